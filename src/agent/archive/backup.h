/*
 * backup.h: a directory as one file, and back.
 *
 * The file is for whoever made it: squashfs where the sandbox has its tools
 * (the format that clients of the container may take apart by hand), else a
 * tar.  Which one it is, is seen when it is restored.
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
	const char *dir, *archive; /* where backup_path_find() found them */
	const json_t *excludes;    /* patterns that were checked, or NULL */
	bool gitignore;            /* without what git ignores there */
	enum backup_format format;
	int threads;
	/*
	 * What the wrapper keeps among the tenant's files: absolute paths up to
	 * NULL.  No archive has it, and a restored directory keeps it.
	 */
	const char *const *ours;
};

/*
 * Makes the archive, which takes its place when it is whole; *size is told.
 * "backup_create_failed", unless files.h or helper.h has a better word.
 */
int backup_create(const struct backup *b, const struct helper_boss *boss,
    int64_t *size, struct err *e) MUST_CHECK;

/*
 * The directory has what is in the archive and nothing else, or is as it was.
 * "backup_not_found", "backup_restore_failed", or as above.
 */
int backup_restore(const struct backup *b, const struct helper_boss *boss,
    struct err *e) MUST_CHECK;

#endif
