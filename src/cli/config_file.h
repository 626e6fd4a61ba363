/*
 * config_file.h: reads the user's configuration file, and replaces it.
 */
#ifndef SANDLEASE_CLI_CONFIG_FILE_H
#define SANDLEASE_CLI_CONFIG_FILE_H

#include <sys/stat.h>

#include "common/err.h"
#include "common/str.h"

/* The file's name, which the caller frees; NULL: HOME is not set. */
char *config_file_name(void);

/* Reads a file of at most 16 KiB; if it is missing, 0 and an empty text. */
int config_file_read(const char *name, struct buf *text, struct stat *st,
    struct err *e) MUST_CHECK;

/*
 * Copies `text` to `out` with new lines for `profile`, or without its lines if
 * `url` is NULL.  All other lines stay as they are.  Pure.
 */
void config_file_edit(const char *text, const char *profile, const char *url,
    const char *key, struct buf *out);

/*
 * Does the same to the user's file, by a temporary file and an atomic rename;
 * the file then has mode 0600.  The caller frees *file, its name.
 */
int config_file_store(const char *profile, const char *url, const char *key,
    char **file, struct err *e) MUST_CHECK;

#endif
