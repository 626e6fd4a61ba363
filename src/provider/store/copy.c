/* copy.c: copies a snapshot's files into the directories of a new session. */
#include "provider/store/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/mem.h"
#include "provider/host/file.h"
#include "provider/store/job.h"
#include "provider/store/snapshot.h"
#include "provider/store/storage.h"

/*
 * Makes a complete copy the session's directory by an atomic rename.  False
 * with errno on failure, for example if another worker was faster.
 */
static bool
rename_copy(const char *copy, int box, const char *session)
{
	auto_free char *report = xasprintf("%s/report", session);

	if (renameat(AT_FDCWD, copy, box, session) < 0)
		return false;
	CRASH_POINT("storage.copied");
	unlinkat(box, report, 0); /* the caller has read it by job_look() */
	return true;
}

/*
 * Renames the snapshot's spare, which may still be in the making, to this
 * session's copy.  Without the rename two sessions could take the same spare.
 * Nothing happens when there is no spare, or the session has a copy already.
 */
static void
claim_spare(const struct provider *p, int box, const char *session,
    const struct snapshot_ref *s)
{
	auto_free char *spare = snapshot_spare(p, s);
	auto_free char *copy = xasprintf("%s%s", STORAGE_COPY, session);

	(void)!renameat(AT_FDCWD, spare, box, copy);
}

static int
make_copy(const struct provider *p, const char *dir,
    const struct snapshot_ref *s, int64_t deadline_ms, struct job_seen *seen,
    struct err *e)
{
	auto_fd int ended = -1;

	if (snapshot_restore(p, s, dir, deadline_ms, &ended, e) < 0)
		return -1;
	CRASH_POINT("storage.copying");
	return job_wait(dir, ended, deadline_ms, seen, e);
}

static int
install_copy(const struct provider *p, int box, const char *dir,
    const char *session, const struct snapshot_ref *s, int64_t deadline_ms,
    struct err *e)
{
	struct job_seen seen;

	if (job_await(dir, deadline_ms, &seen, e) < 0)
		return -1;
	if (seen.state != JOB_DONE && seen.state != JOB_RUNS &&
	    (storage_drop_copy(p, box, session, e) < 0 ||
		make_copy(p, dir, s, deadline_ms, &seen, e) < 0))
		return -1;
	if (seen.state == JOB_RUNS)
		return err_set(e, ERR_BUSY, CODE_COPYING,
		    "the files of the snapshot are being copied");
	if (seen.state != JOB_DONE) {
		*e = seen.why;
		return err_wrap(e,
		    "the files of the snapshot cannot be copied");
	}
	if (!rename_copy(dir, box, session) && errno != EEXIST &&
	    errno != ENOTEMPTY)
		return err_errno(e, "moving %s", dir);
	/* EEXIST, ENOTEMPTY: a faster worker has copied the same files */
	return 0;
}

int
storage_from(const struct provider *p, const char *name, const char *session,
    const struct snapshot_ref *s, int64_t deadline_ms, struct err *e)
{
	auto_free char *path = storage_path(p, name);
	auto_free char *dir = xasprintf("%s/%s%s", path, STORAGE_COPY, session);
	auto_fd int box = file_dir(AT_FDCWD, path, 0700, e);
	bool there;

	if (box < 0 || storage_exists(p, name, session, &there, e) < 0)
		return -1;
	if (!there) {
		claim_spare(p, box, session, s);
		if (install_copy(p, box, dir, session, s, deadline_ms, e) < 0)
			return -1;
	}
	/* if another worker won the race our copy is useless: remove it */
	if (storage_drop_copy(p, box, session, e) < 0)
		return -1;
	snapshot_make_spare(p, s);
	return 0;
}
