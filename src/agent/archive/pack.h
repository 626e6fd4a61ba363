/*
 * pack.h: the helper programs that write and read archives.
 *
 * They are processes of their own (`sandlease-agent pack`, `unpack`, ...) for
 * two reasons: an archive is not trusted, and libarchive changes the working
 * directory and umask, which the wrapper's threads share.
 *
 * A snapshot is such an archive, too.  `keep` writes it in the session, with
 * the tenant's rights.  `receive` reads it on the host, in a sandbox of its own
 * (provider/store/job.h).
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_PACK_H
#define SANDLEASE_AGENT_ARCHIVE_PACK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

/* Last entry that `keep` writes: without it other entries may be missing. */
#define PACK_MARK "complete"

/*
 * `pack FORMAT NAME`: writes NAME in the working directory, `.` for all of it,
 * as an archive to stdout.  The archive is complete only if the status is 0;
 * else {entry, message, errno} is on stderr.
 */
int pack_main(const char *format, const char *name);

/*
 * `unpack`: extracts the archive on stdin into the working directory, and
 * nowhere else.  Writes {entries, bytes, skipped} to stdout, after a failure
 * with {entry, message, errno}; errno is 0 for a bad archive.
 */
int unpack_main(void);

/* `backup FORMAT`: `pack FORMAT .` without the files that stdin names. */
int backup_main(const char *format);

/* `restore`: as unpack, but restores modes and has no limit of entries. */
int restore_main(void);

/* `keep`: writes a session's files, /workspace and /home/user, to stdout. */
int snapshot_export_main(void);

/*
 * `receive BYTES SECONDS`: as unpack, but restores modes and makes the files
 * durable.  Fails if the archive takes more room or time, or has no PACK_MARK.
 */
int receive_main(int64_t bytes_max, int64_t seconds);

/* A failure; entry is NULL if it concerns no entry, error 0 or an errno. */
struct pack_fault {
	const char *entry, *message;
	int error;
};

/* Adds {entry, message, errno} to a report. */
void pack_blame(json_t *said, const struct pack_fault *f);

/*
 * Sets the error of files.h if a report has an errno, for its entry or else for
 * `path`.  False if the errno is 0 or missing: the disk is not the cause.
 */
bool pack_blames_disk(const json_t *said, const char *path, struct err *e);

#endif
