/*
 * backup.h: packs a directory into one file and restores it.
 *
 * The file is a squashfs if the sandbox has the tools for it, because clients
 * may unpack that by hand, else a tar.  A restore detects the format.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_BACKUP_H
#define SANDLEASE_AGENT_ARCHIVE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/run/helper.h"
#include "common/err.h"
#include "common/json.h"

enum backup_format { BACKUP_GZIP, BACKUP_LZ4, BACKUP_ZSTD };

struct backup {
	const char *dir, *archive; /* results of backup_path_find() */
	const json_t *excludes;    /* checked patterns, or NULL */
	bool gitignore;            /* omit files that git ignores */
	enum backup_format format;
	int threads;
	/*
	 * The wrapper's own files among the tenant's: absolute paths, NULL at
	 * the end.  No archive contains them, and a restored directory keeps them.
	 */
	const char *const *ours;
};

/*
 * Makes the archive, with an atomic rename when it is complete; *size is its
 * size.  "backup_create_failed", unless files.h or helper.h has a more specific
 * code.
 */
int backup_create(const struct backup *b, const struct helper_boss *boss,
    int64_t *size, struct err *e) MUST_CHECK;

/*
 * Replaces the content of the directory by that of the archive.  On an error
 * the directory is unchanged: "backup_not_found", "backup_restore_failed", or
 * as above.
 */
int backup_restore(const struct backup *b, const struct helper_boss *boss,
    struct err *e) MUST_CHECK;

#endif
