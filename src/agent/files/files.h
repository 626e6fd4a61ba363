/*
 * files.h: paths and errors of the session's files.
 *
 * With the tenant's own rights, inside its own cell: a path is no boundary
 * here.  Errors carry the container's codes (file_not_found, no_space, ...).
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

/* errno in the container's words, of the file at `path`.  -1. */
int files_fail(struct err *e, const char *path);

/*
 * `path` as it is meant in directory `cwd`, without empty and "." segments.  A
 * slash at the end stays: it says "directory".  Pure.
 */
int files_resolve(const char *cwd, const char *path, char out[FILES_PATH_MAX],
    struct err *e) MUST_CHECK;

/* Follows the links at the end of the path, also to what is not there. */
int files_follow(char path[FILES_PATH_MAX], struct err *e) MUST_CHECK;

/* The directories on the way to `path`, those that are missing. */
int files_make_parents(const char *path, struct err *e) MUST_CHECK;

/* mkdir; with `parents` mkdir -p, to which one that is there is as good. */
int files_make_dir(const char *path, bool parents, struct err *e) MUST_CHECK;

/* The part of `path` below `dir`; NULL when it is not there.  Pure. */
const char *files_below(const char *path, const char *dir);

/* A name that nobody has in the directory of `path`, which is absolute. */
void files_beside(const char *path, char out[FILES_TEMP_MAX]);
/* Whether a name is such a one. */
bool files_is_beside(const char *name);

/* Writes all of it.  -1 with errno. */
int files_put(int fd, const char *data, size_t len);

#endif
