/*
 * config_file.h: the user's file, read whole and written anew.
 */
#ifndef SANDLEASE_CLI_CONFIG_FILE_H
#define SANDLEASE_CLI_CONFIG_FILE_H

#include <sys/stat.h>

#include "common/err.h"
#include "common/str.h"

/* The caller frees it; NULL when there is no home. */
char *config_file_name(void);

/* A whole file of at most 16 KiB; 0 and an empty text if there is none. */
int config_file_read(const char *name, struct buf *text, struct stat *st,
    struct err *e) MUST_CHECK;

/*
 * The text with the lines of a profile replaced by these, or taken out if
 * `url` is NULL.  Everything else stays as it is.  Pure.
 */
void config_file_edit(const char *text, const char *profile, const char *url,
    const char *key, struct buf *out);

/*
 * Does that with the user's file, which then has mode 0600; by an atomic
 * rename.  The caller frees *file, its name.
 */
int config_file_store(const char *profile, const char *url, const char *key,
    char **file, struct err *e) MUST_CHECK;

#endif
