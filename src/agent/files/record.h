/*
 * record.h: keeps small files of the wrapper in a directory that the tenant can
 * write to, too.
 *
 * The tenant may remove, replace or change everything there at any time: a
 * caller checks and bounds what it reads back.
 */
#ifndef SANDLEASE_AGENT_FILES_RECORD_H
#define SANDLEASE_AGENT_FILES_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/json.h"

enum { RECORD_PATH_MAX = 512, RECORD_MAX = 64 * 1024 };

/* DIR/ID and the suffix. */
void record_path(const char *dir, const char *id, const char *suffix,
    char out[RECORD_PATH_MAX]);

/* Makes the directory, with its parents; to be called before every write. */
void record_dir(const char *dir);

/*
 * Replaces DIR/ID.json atomically, by way of DIR/ID.new.  On a full disk the
 * old one stays.
 */
void record_write(const char *dir, const char *id, const json_t *body);
/* Reads it; NULL unless it is a regular file with a JSON object. */
json_t *record_read(const char *dir, const char *id);

#define RECORD_SUFFIX ".json"
#define RECORD_NEW_SUFFIX ".new"

#endif
