/*
 * backup_internal.h: declarations shared by making and restoring a backup.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_BACKUP_INTERNAL_H
#define SANDLEASE_AGENT_ARCHIVE_BACKUP_INTERNAL_H

#include "common/err.h"
#include "common/str.h"

#define BACKUP_MKSQUASHFS "/usr/bin/mksquashfs"
#define BACKUP_UNSQUASHFS "/usr/bin/unsquashfs"

/* Sets the error of a helper of ours, from its report (pack.h); -1. */
int backup_blame_ours(const struct buf *said, const char *path, struct err *e);

/* Sets the error of mksquashfs or unsquashfs, from status and text; -1. */
int backup_blame_theirs(const struct buf *said, int status, const char *path,
    struct err *e);

/*
 * Gives the error `code`, unless its code is more specific: a full disk, an
 * interruption, a client that left, a wrong argument.  -1.
 */
int backup_failed(enum err_code code, struct err *e);

#endif
