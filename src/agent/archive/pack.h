/*
 * pack.h: making archives and taking them apart.
 *
 * Programs of their own, `sandlease-agent pack` and `unpack`, because an
 * archive may be anybody's and libarchive changes directory and umask under
 * way: neither is for the process that serves the session.
 *
 * A snapshot is such an archive, too: `keep` inside, with the tenant's rights,
 * and `receive` outside, where a sandbox of its own (provider/store/job.h) holds it.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_PACK_H
#define SANDLEASE_AGENT_ARCHIVE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

/* The last entry of what `keep` sends: without it something is missing. */
#define PACK_MARK "complete"

/*
 * `pack FORMAT NAME`: what is at NAME in this directory as an archive on
 * stdout, `.` for all of it.  Complete only if the status is 0; else stderr
 * says {entry, message, errno}.
 */
int pack_main(const char *format, const char *name);

/*
 * `unpack`: the archive on stdin into this directory and nowhere else.  Says
 * on stdout {entries, bytes, skipped}, and on failure {entry, message, errno}
 * too; errno is 0 when the archive is to blame.
 */
int unpack_main(void);

/* `backup FORMAT`: as pack, of this directory without what stdin names (omit.h). */
int backup_main(const char *format);

/* `restore`: as unpack, with the modes and the number of entries as they were. */
int restore_main(void);

/* `keep`: all a session has, /workspace and /home/user, on stdout. */
int snapshot_export_main(void);

/*
 * `receive BYTES SECONDS`: as unpack, with the modes as they were and an end:
 * what takes more room or time, or has no PACK_MARK, has failed.
 */
int receive_main(int64_t bytes_max, int64_t seconds);

/* What went wrong; entry: NULL when it is not known with which. */
struct pack_fault {
	const char *entry, *message;
	int error;
};

/* {entry, message, errno} of it. */
void pack_blame(json_t *said, const struct pack_fault *f);

/*
 * The error of such a report: the disk's errors are those of files.h.  False
 * when the archive, or nobody, is to blame.
 */
bool pack_blames_disk(const json_t *said, const char *path, struct err *e);

#endif
