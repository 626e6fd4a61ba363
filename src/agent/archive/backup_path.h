/*
 * backup_path.h: checks the paths of backups.
 *
 * Source directories and archives must be below certain directories, before and
 * after links are followed.  The check finds mistakes of a client; it is not a
 * security boundary, the cell is.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_BACKUP_PATH_H
#define SANDLEASE_AGENT_ARCHIVE_BACKUP_PATH_H

#include "agent/files/files.h"
#include "common/err.h"

enum backup_place { BACKUP_DIR, BACKUP_ARCHIVE };

/* "invalid_backup_config" when `path` is not allowed.  Pure. */
int backup_path_check(enum backup_place place, const char *path, struct err *e)
    MUST_CHECK;

/*
 * Resolves links in `path`, which need not exist yet, and checks the result as
 * above.
 */
int backup_path_find(enum backup_place place, const char *path,
    char out[FILES_PATH_MAX], struct err *e) MUST_CHECK;

/* Checks an exclude pattern: a name, or a path below the directory.  Pure. */
int backup_pattern_check(const char *pattern, struct err *e) MUST_CHECK;

/* The id of an archive: its file name without the suffix.  Pure. */
void backup_id(const char *archive, char *out, size_t size);

#endif
