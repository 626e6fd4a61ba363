/*
 * backup_internal.h: what making and restoring a backup have in common.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_BACKUP_INTERNAL_H
#define SANDLEASE_AGENT_ARCHIVE_BACKUP_INTERNAL_H

#include "common/err.h"
#include "common/str.h"

#define BACKUP_MKSQUASHFS "/usr/bin/mksquashfs"
#define BACKUP_UNSQUASHFS "/usr/bin/unsquashfs"

/* Why a program of ours failed, by what it said (pack.h).  -1. */
int backup_blame_ours(const struct buf *said, const char *path, struct err *e);

/* The same of one that speaks to people only.  -1. */
int backup_blame_theirs(const struct buf *said, int status, const char *path,
    struct err *e);

/* The code of what has no better one: a full disk and a caller's own do.  -1. */
int backup_failed(enum err_code code, struct err *e);

#endif
