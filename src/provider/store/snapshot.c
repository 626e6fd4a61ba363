/* snapshot.c: takes, copies and removes snapshots. */
#include "provider/store/snapshot.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "provider/host/file.h"
#include "provider/host/trash.h"
#include "provider/link/link.h"
#include "provider/store/job.h"
#include "provider/store/storage.h"

enum { LAST_WORDS_MS = 1000, PIPE_BYTES = 1024 * 1024, NUMBER_MAX = 24 };

static char *
owner_dir(const struct provider *p, const struct snapshot_ref *s)
{
	return xasprintf("%s/snapshots/%s", p->conf->state_dir, s->owner);
}

static char *
snapshot_dir(const struct provider *p, const struct snapshot_ref *s)
{
	return xasprintf("%s/snapshots/%s/%s", p->conf->state_dir, s->owner,
	    s->id);
}

char *
snapshot_spare(const struct provider *p, const struct snapshot_ref *s)
{
	return xasprintf("%s/snapshots/%s/%s/spare", p->conf->state_dir,
	    s->owner, s->id);
}

static int
check_ref(const struct snapshot_ref *s, struct err *e)
{
	if (id_is_session(s->id) &&
	    str_made_of(s->owner, "0123456789abcdef", 1, SNAPSHOT_OWNER_MAX))
		return 0;
	return err_set(e, ERR_INTERNAL, CODE_BAD_SNAPSHOT_ID,
	    "\"%.32s\" is not a snapshot", s->id);
}

/* Starts the job that receives the files.  The agent writes them to *to. */
static int
start_receiving(const struct provider *p, const struct snapshot_ref *s,
    const struct snapshot_bounds *most, int64_t deadline_ms, int *to,
    int *ended, struct err *e)
{
	auto_free char *all = owner_dir(p, s), *dir = snapshot_dir(p, s);
	auto_fd int owner = file_dir(AT_FDCWD, all, 0700, e);
	char bytes[NUMBER_MAX], seconds[NUMBER_MAX];
	auto_fd int from = -1;
	int ends[2];

	if (owner < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	from = ends[0];
	*to = ends[1];
	(void)fcntl(from, F_SETPIPE_SZ, PIPE_BYTES);
	snprintf(bytes, sizeof(bytes), "%" PRId64, most->bytes);
	snprintf(seconds, sizeof(seconds), "%" PRId64, most->seconds);
	return job_begin(p, dir,
	    &(struct job){ .owner = s->owner,
		.words = { "receive", bytes, seconds },
		.to = "files",
		.in = from },
	    deadline_ms, ended, e);
}

int
snapshot_take(const struct provider *p, const struct snapshot_ref *s,
    const struct agent_target *t, const struct snapshot_bounds *most,
    int64_t deadline_ms, struct err *e)
{
	auto_free char *dir = snapshot_dir(p, s);
	auto_fd int to = -1;
	auto_fd int ended = -1;
	auto_fd int asked = -1;
	struct job_seen seen;

	if (check_ref(s, e) < 0 ||
	    start_receiving(p, s, most, deadline_ms, &to, &ended, e) < 0)
		return -1;
	CRASH_POINT("snapshot.receiving");
	asked = agent_snapshot_export(p, t, to, e);
	mem_close_fd(&to); /* otherwise the job never reads end of file */
	if (asked < 0)
		return -1;
	CRASH_POINT("snapshot.sending");
	if (job_wait(dir, ended, deadline_ms, &seen, e) < 0)
		return -1;
	if (seen.state == JOB_DONE)
		snapshot_make_spare(p, s);
	if (seen.state != JOB_FAILED)
		return 0;
	/*
	 * If the job had no room, the agent's error is only a broken pipe.
	 * Otherwise the agent may know the reason better.
	 */
	if (seen.why.kind != ERR_NO_SPACE &&
	    agent_snapshot_export_end(asked, clock_ms() + LAST_WORDS_MS, e) < 0)
		return -1;
	*e = seen.why;
	return -1;
}

/*
 * Reads the state of the snapshot's job.  A report without `files` counts as no
 * snapshot.  Fails while the storage is not mounted: the snapshot may then
 * exist.
 */
static int
look_at_files(const struct provider *p, const struct snapshot_ref *s,
    struct job_seen *out, struct err *e)
{
	auto_free char *dir = snapshot_dir(p, s);
	auto_free char *files = xasprintf("%s/files", dir);
	struct stat st;

	if (check_ref(s, e) < 0 || storage_check(p, e) < 0 ||
	    job_look(dir, out, e) < 0)
		return -1;
	if (out->state == JOB_DONE &&
	    (lstat(files, &st) < 0 || !S_ISDIR(st.st_mode)))
		out->state = JOB_NONE;
	return 0;
}

int
snapshot_look(const struct provider *p, const struct snapshot_ref *s,
    struct snapshot_seen *out, struct err *e)
{
	static const enum snapshot_presence PRESENCE[] = {
		[JOB_NONE] = SNAPSHOT_ABSENT,
		[JOB_RUNS] = SNAPSHOT_UNDER_WAY,
		[JOB_DONE] = SNAPSHOT_WHOLE,
		[JOB_FAILED] = SNAPSHOT_BROKEN,
	};
	struct job_seen seen;

	if (look_at_files(p, s, &seen, e) < 0)
		return -1;
	*out = (struct snapshot_seen){ .presence = PRESENCE[seen.state],
		.files = seen.entries,
		.bytes = seen.bytes,
		.why = seen.why };
	return 0;
}

int
snapshot_drop(const struct provider *p, const struct snapshot_ref *s,
    struct err *e)
{
	auto_free char *all = owner_dir(p, s), *dir = snapshot_dir(p, s);
	auto_fd int owner = -1;
	struct job_seen seen;
	bool found;

	if (check_ref(s, e) < 0 || job_look(dir, &seen, e) < 0)
		return -1;
	if (seen.state == JOB_RUNS)
		return err_set(e, ERR_BUSY, CODE_JOB_RUNS,
		    "the snapshot is still being written");
	owner = file_opendir(AT_FDCWD, all, &found, e);
	if (owner < 0)
		return found ? -1 : 0;
	return trash_take(p, owner, s->id, e);
}

int
snapshot_list(const struct provider *p, struct snapshot_ref **out,
    size_t *count, struct err *e)
{
	auto_free char *top = xasprintf("%s/snapshots", p->conf->state_dir);
	auto_names char **owners = NULL;
	struct snapshot_ref *list = NULL;
	size_t n = 0;
	int rc = storage_check(p, e);

	if (rc == 0)
		rc = file_names(AT_FDCWD, top, &owners, e);
	for (char **o = owners; rc == 0 && *o != NULL; o++) {
		auto_free char *path = xasprintf("%s/%s", top, *o);
		auto_names char **ids = NULL;

		rc = file_names(AT_FDCWD, path, &ids, e);
		for (char **i = ids; rc == 0 && *i != NULL; i++) {
			struct snapshot_ref s = { 0 };
			struct err ignored; /* not the name of a snapshot */

			if (!str_copy(s.owner, sizeof(s.owner), *o) ||
			    !str_copy(s.id, sizeof(s.id), *i) ||
			    check_ref(&s, &ignored) < 0)
				continue;
			list = xrealloc(list, (n + 1) * sizeof(*list));
			list[n++] = s;
		}
	}
	*out = list;
	*count = rc == 0 ? n : 0;
	return rc;
}

/* ---- copies of a snapshot */

int
snapshot_restore(const struct provider *p, const struct snapshot_ref *s,
    const char *dir, int64_t deadline_ms, int *ended, struct err *e)
{
	auto_free char *home = snapshot_dir(p, s);
	auto_free char *files = xasprintf("%s/files", home);
	struct job_seen seen;
	char seconds[NUMBER_MAX];

	*ended = -1;
	if (look_at_files(p, s, &seen, e) < 0)
		return -1;
	if (seen.state != JOB_DONE)
		return err_set(e, ERR_CONFLICT, CODE_SNAPSHOT_LOST,
		    "the files of the snapshot are gone");
	snprintf(seconds, sizeof(seconds), "%" PRId64,
	    p->conf->snapshot_seconds);
	return job_begin(p, dir,
	    &(struct job){ .owner = s->owner,
		.words = { "clone", seconds },
		.to = ".",
		.from = files,
		.in = -1 },
	    deadline_ms, ended, e);
}

/* Bytes that may be used until new workspaces are refused. */
static int64_t
room_left(const struct provider *p)
{
	const struct conf *c = p->conf;
	int64_t keep = c->capacity_min_mb > c->disk_low_mb ? c->capacity_min_mb
							   : c->disk_low_mb;
	struct capacity now;
	struct err ignored; /* a disk that cannot be measured has no room */

	if (p->ops->capacity(p, "", &now, &ignored) < 0)
		return 0;
	return now.room_bytes - (keep << 20);
}

static int
drop_spare(const struct provider *p, const struct snapshot_ref *s,
    struct err *e)
{
	auto_free char *path = snapshot_dir(p, s);
	auto_fd int dir = -1;
	bool found;

	dir = file_opendir(AT_FDCWD, path, &found, e);
	if (dir < 0)
		return found ? -1 : 0;
	return trash_take(p, dir, "spare", e);
}

void
snapshot_make_spare(const struct provider *p, const struct snapshot_ref *s)
{
	auto_free char *home = snapshot_dir(p, s), *dir = snapshot_spare(p, s);
	struct job_seen whole, spare;
	auto_fd int ended = -1;
	struct err ignored; /* then the next session waits for a copy */

	if (p->conf->snapshot_spares == 0 ||
	    job_look(home, &whole, &ignored) < 0 ||
	    job_look(dir, &spare, &ignored) < 0 || spare.state == JOB_RUNS ||
	    spare.state == JOB_DONE || whole.bytes >= room_left(p) ||
	    (spare.state == JOB_FAILED && drop_spare(p, s, &ignored) < 0))
		return;
	(void)!snapshot_restore(p, s, dir, 0, &ended, &ignored);
}

int
snapshot_spares_sweep(const struct provider *p, struct err *e)
{
	auto_free struct snapshot_ref *all = NULL;
	size_t count;

	if (room_left(p) > 0)
		return 0;
	if (snapshot_list(p, &all, &count, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (drop_spare(p, &all[i], e) < 0)
			return -1;
	return 0;
}
