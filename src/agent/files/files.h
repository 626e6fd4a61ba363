/*
 * files.h: resolves paths, makes directories and names errors of the session's
 * files.
 *
 * The wrapper has the tenant's own rights, in the tenant's own cell, so any
 * path is allowed here.  Errors have the codes of the container's error format
 * (file_not_found, no_space, ...).
 */
#ifndef SANDLEASE_AGENT_FILES_FILES_H
#define SANDLEASE_AGENT_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

enum { FILES_PATH_MAX = 4097, FILES_TEMP_MAX = FILES_PATH_MAX + 32 };

/* Sets e from errno, with the code for the container's format.  Returns -1. */
int files_fail(struct err *e, const char *path);

/*
 * Makes `path` absolute, relative to `cwd`, without empty and "." segments.  A
 * slash at the end stays: it means "a directory".  Pure.
 */
int files_resolve(const char *cwd, const char *path, char out[FILES_PATH_MAX],
    struct err *e) MUST_CHECK;

/* Follows symbolic links at the end of `path`, also to a missing target. */
int files_follow(char path[FILES_PATH_MAX], struct err *e) MUST_CHECK;

/* Makes the missing parent directories of `path`. */
int files_make_parents(const char *path, struct err *e) MUST_CHECK;

/* mkdir; with `parents` mkdir -p, for which the directory may exist. */
int files_make_dir(const char *path, bool parents, struct err *e) MUST_CHECK;

/* The part of `path` below `dir`; NULL when it is not below dir.  Pure. */
const char *files_below(const char *path, const char *dir);

/* A random name for a temporary file beside `path`, which is absolute. */
void files_beside(const char *path, char out[FILES_TEMP_MAX]);
/* Whether files_beside() could have made the name. */
bool files_is_beside(const char *name);

/* Writes all `len` bytes.  -1 with errno. */
int files_put(int fd, const char *data, size_t len);

#endif
