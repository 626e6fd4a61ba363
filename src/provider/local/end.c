/* end.c: stops and destroys sandboxes. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box/gone.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/link/link.h"
#include "provider/local/local.h"
#include "provider/store/storage.h"

/*
 * Kills the processes on record.  init is pid 1 of its namespace: its death
 * kills all others in it.  bwrap waits for init outside the namespace; it may
 * have got a SIGSTOP, so it is killed as well.
 */
static int
kill_recorded(const struct provider *p, const struct box *b, struct err *e)
{
	struct box_proc pr;

	if (box_proc(b, &pr, e) < 0)
		return -1;
	if (!str_equal(pr.boot_id, p->boot_id))
		return 0;
	/* the worker may have died before it had recorded init's pid */
	if (pr.init.pid == 0 && pr.bwrap.pid != 0 &&
	    proc_child(&pr.bwrap, &pr.init, e) < 0)
		return -1;
	if (proc_kill(&pr.init, e) < 0)
		return -1;
	return proc_kill(&pr.bwrap, e);
}

int
local_kill(const struct provider *p, const struct box *b, int64_t deadline_ms,
    struct err *e)
{
	struct cgroup_tree t;

	if (box_cgroups(p, b, &t, e) < 0)
		return -1;
	for (;;) {
		bool runs;
		int rc = local_runs(p, b, &runs, e);

		if (rc == 0 && !runs)
			break;
		if (clock_left_ms(deadline_ms) == 0)
			return rc < 0
			    ? -1
			    : err_set(e, ERR_UNAVAILABLE, CODE_STILL_RUNNING,
				  "sandbox %s still has processes", b->name);
		/* an unknown process holds the lock: wait until it ends */
		if (rc < 0 && e->kind != ERR_BUSY)
			return -1;
		if (cgroup_kill(&t, b->name, e) < 0 ||
		    (b->dir >= 0 && kill_recorded(p, b, e) < 0))
			return -1;
		proc_nap(deadline_ms);
	}
	return cgroup_remove(&t, b->name, NULL, deadline_ms, e);
}

void
local_unlink_sockets(const struct provider *p, const struct box *b,
    const struct record *r)
{
	auto_free char *control =
	    local_control_path(p, b->name, r->incarnation);
	auto_names char **sessions = NULL;
	auto_free struct agent_life *lives = NULL;
	struct err ignored; /* a socket that stays has no listener */
	size_t count = 0;

	unlink(control);
	for (size_t i = 0; i < RECORD_PAST_MAX && r->past[i][0] != '\0'; i++) {
		auto_free char *past =
		    local_control_path(p, b->name, r->past[i]);

		unlink(past);
	}
	if (storage_sessions(p, b->name, &sessions, &ignored) < 0)
		return;
	while (sessions[count] != NULL)
		count++;
	lives = xcalloc(count + 1, sizeof(*lives));
	for (size_t i = 0; i < count; i++) {
		lives[i].generation = INT64_MAX;
		(void)!str_copy(lives[i].session, sizeof(lives[i].session),
		    sessions[i]);
	}
	agent_unlink_sockets_of(p->conf, lives, count);
}

/* Writes the end into the record, which refuses a start from then on. */
static int
record_the_end(const struct provider *p, const struct box *b,
    const char *incarnation, bool destroy, struct record *r, bool *runs,
    struct err *e)
{
	if (box_record(b, r, e) < 0 || local_may_run(p, b, runs, e) < 0 ||
	    record_check_end(r, incarnation, *runs, destroy, e) < 0)
		return -1;
	record_end(r, incarnation, destroy);
	return box_set_record(b, r, e);
}

static int
end_incarnation(const struct provider *p, const struct box *b,
    const char *incarnation, bool destroy, int64_t deadline_ms, struct err *e)
{
	struct record r;
	bool runs;

	if (record_the_end(p, b, incarnation, destroy, &r, &runs, e) < 0)
		return -1;
	CRASH_POINT("end.recorded");
	if (local_kill(p, b, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("end.killed");
	local_unlink_sockets(p, b, &r);
	return 0;
}

int
local_stop(const struct provider *p, const char *id, const char *incarnation,
    int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;

	if (box_lock(p, id, deadline_ms, &b, e) < 0)
		return -1;
	return end_incarnation(p, &b, incarnation, false, deadline_ms, e);
}

int
local_destroy(const struct provider *p, const char *id, const char *incarnation,
    int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;

	if (box_lock(p, id, deadline_ms, &b, e) < 0 ||
	    end_incarnation(p, &b, incarnation, true, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("end.ended");
	if (storage_drop_box(p, b.name, e) < 0)
		return -1;
	CRASH_POINT("end.dropped");
	box_forget(&b);
	gone_add(&b);
	return 0;
}

void
local_begin_end(const struct provider *p, const char *id,
    const char *incarnation, bool destroy)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;
	struct record r;
	struct err e; /* ignored: stop or destroy will meet it */
	bool runs;

	if (box_lock(p, id, 0, &b, &e) < 0 ||
	    record_the_end(p, &b, incarnation, destroy, &r, &runs, &e) < 0 ||
	    !runs || box_cgroups(p, &b, &t, &e) < 0)
		return;
	(void)!cgroup_kill(&t, b.name, &e);
	(void)!kill_recorded(p, &b, &e);
}
