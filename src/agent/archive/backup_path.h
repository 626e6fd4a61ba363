/*
 * backup_path.h: what backups may be made of, and where they may lie.
 *
 * Below a few directories each, before links are followed and after.  Whoever
 * asks for more has made a mistake; it is no boundary, the cell is.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_BACKUP_PATH_H
#define SANDLEASE_AGENT_ARCHIVE_BACKUP_PATH_H

#include "agent/files/files.h"
#include "common/err.h"

enum backup_place { BACKUP_DIR, BACKUP_ARCHIVE };

/* "invalid_backup_config" when it may not be there.  Pure. */
int backup_path_check(enum backup_place place, const char *path, struct err *e)
    MUST_CHECK;

/* Where it is, also of what is not there yet, after the check above. */
int backup_path_find(enum backup_place place, const char *path,
    char out[FILES_PATH_MAX], struct err *e) MUST_CHECK;

/* The same for what is left out: names, or paths below the directory.  Pure. */
int backup_pattern_check(const char *pattern, struct err *e) MUST_CHECK;

/* What an archive is called: its name without the ending.  Pure. */
void backup_id(const char *archive, char *out, size_t size);

#endif
