/* ensure.c: starts a sandbox, or adopts one that runs. */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/link/link.h"
#include "provider/local/bwrap.h"
#include "provider/local/local.h"
#include "provider/local/start.h"
#include "provider/store/rootfs.h"
#include "provider/store/storage.h"

enum { TMP_BYTES = 16 * 1024 * 1024, TAIL_MAX = 1024 };

static int
check_spec(const struct sandbox_spec *s, struct err *e)
{
	if (str_made_of(s->incarnation, "abcdefghijklmnopqrstuvwxyz234567",
		ID_INCARNATION_LEN, ID_INCARNATION_LEN))
		return 0;
	return err_set(e, ERR_INTERNAL, CODE_BAD_INCARNATION,
	    "\"%.32s\" is not an incarnation", s->incarnation);
}

/*
 * A worker that was paused past its deadline must not start a destroyed sandbox
 * again: the tombstone that would refuse it may be gone.  Called under the
 * lock, which box_bury() takes before it removes a tombstone.
 */
static int
check_deadline(int64_t deadline_ms, struct err *e)
{
	if (clock_left_ms(deadline_ms) > 0)
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
	    "the deadline of this start is over");
}

/* Copies the last line that was added to the log after offset `from`. */
static void
last_line(const struct box *b, int64_t from, char *out, size_t size)
{
	auto_buf struct buf text = { 0 };
	struct err ignored; /* then the error has no reason from the log */
	char *line;

	out[0] = '\0';
	if (box_log_tail(b, from, TAIL_MAX, &text, &ignored) < 0 ||
	    text.len == 0)
		return;
	while (text.len > 0 && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	line = strrchr(text.data, '\n');
	str_copy(out, size, line != NULL ? line + 1 : text.data);
}

/* Adds the reason for a failed start, which bwrap or init wrote to the log. */
static int
explain_failure(const struct box *b, int64_t from, struct err *e)
{
	char line[ERR_MSG_MAX / 2];

	last_line(b, from, line, sizeof(line));
	if (line[0] == '\0')
		return -1;
	return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
	    "the sandbox could not be started: %s", line);
}

/*
 * Whether sandlease-launch, at `path`, starts the sandbox.  An installation
 * without it, such as one of a test, has bwrap do it.
 */
static bool
launches_itself(const struct conf *c, const char *path)
{
	return c->launcher == LAUNCHER_OWN ||
	    (c->launcher == LAUNCHER_AUTO && access(path, X_OK) == 0);
}

static int
run_bwrap(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, const struct cgroup_tree *t, int lock,
    int log, int64_t deadline_ms, struct err *e)
{
	auto_free char *storage = storage_path(p, b->name);
	auto_free char *path = local_control_path(p, b->name, s->incarnation);
	auto_free char *ws = str_beside(p->conf->agent_path, "sandlease-ws");
	auto_free char *own =
	    str_beside(p->conf->agent_path, "sandlease-launch");
	auto_argv struct bwrap_argv argv = { 0 };
	auto_fd int control = channel_listen(path, SOCK_SEQPACKET, e);
	auto_fd int root = -1;
	struct bwrap_spec spec = { .bwrap = p->conf->bwrap_path,
		.agent = p->conf->agent_path,
		.ws = ws,
		.storage = storage,
		.root = s->rootfs,
		.writable_root = s->writable_root,
		.sandbox = b->name,
		.incarnation = s->incarnation,
		.log_level = LOG_LEVEL_NAMES[p->conf->log_level],
		.log_format = LOG_FORMAT_NAMES[p->conf->log_format],
		.log_kb = p->conf->agent_log_kb,
		.tmp_bytes = TMP_BYTES };
	struct bwrap_start start = { .p = p,
		.box = b,
		.cgroups = t,
		.control = control,
		.lock = lock,
		.log = log };

	if (control < 0 || rootfs_hold(s->rootfs, &root, e) < 0 ||
	    bwrap_argv(&spec, &argv, e) < 0)
		return -1;
	start.root = root;
	start.own = launches_itself(p->conf, own);
	if (start.own)
		bwrap_argv_own(&argv, own, START_GO_FD,
		    p->conf->launcher == LAUNCHER_AUTO);
	start.argv = argv.v;
	return start_bwrap(&start, deadline_ms, e);
}

/* Waits for init's first answer and then records the incarnation as live. */
static int
await_init(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, struct record *r, int64_t deadline_ms,
    struct err *e)
{
	char version[AGENT_VERSION_MAX];

	if (agent_ping(p, s->id, s->incarnation, version, deadline_ms, e) < 0)
		return -1;
	if (r->state == RECORD_LIVE)
		return 0;
	CRASH_POINT("ensure.answered");
	r->state = RECORD_LIVE;
	return box_set_record(b, r, e);
}

/* Removes the socket and the processes of a start that failed.  Returns -1. */
static int
clean_up(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, int64_t deadline_ms)
{
	auto_free char *path = local_control_path(p, b->name, s->incarnation);
	struct err ignored; /* the caller has the first error */

	unlink(path);
	(void)!local_kill(p, b, deadline_ms, &ignored);
	return -1;
}

static int
start_incarnation(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, struct record *r, int64_t deadline_ms,
    struct err *e)
{
	auto_fd int lock = box_hold(b, deadline_ms, e);
	auto_fd int log = -1;
	struct cgroup_tree t;
	struct stat st;
	int rc;

	if (lock < 0)
		return -1;
	log = box_log(p, b, e);
	if (log < 0 || fstat(log, &st) < 0)
		return err_wrap(e, "agent.log");
	record_start(r, s);
	if (box_set_record(b, r, e) < 0)
		return -1;
	CRASH_POINT("ensure.recorded");
	/* not box_cgroups(): those on record are an older incarnation's */
	rc = cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
		box_set_cgroups(b, &t, e) < 0 ||
		cgroup_make(&t, b->name, s, e) < 0 ||
		storage_make_box(p, b->name, e) < 0
	    ? -1
	    : 0;
	CRASH_POINT("ensure.prepared");
	if (rc == 0)
		rc = run_bwrap(p, b, s, &t, lock, log, deadline_ms, e);
	CRASH_POINT("ensure.started");
	mem_close_fd(&lock); /* from now on only the sandbox holds the lock */
	if (rc == 0)
		rc = await_init(p, b, s, r, deadline_ms, e);
	if (rc == 0 || e->code == CODE_TIMED_OUT)
		return rc; /* the next call adopts an init that was only slow */
	explain_failure(b, st.st_size, e);
	return clean_up(p, b, s, deadline_ms);
}

int
local_ensure(const struct provider *p, const struct sandbox_spec *s,
    int64_t deadline_ms, struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct record r;
	bool runs;

	if (check_spec(s, e) < 0 ||
	    box_lock(p, s->id, deadline_ms, &b, e) < 0 ||
	    check_deadline(deadline_ms, e) < 0 || box_record(&b, &r, e) < 0 ||
	    local_may_run(p, &b, &runs, e) < 0 ||
	    record_check_ensure(&r, s, runs, e) < 0)
		return -1;
	if (runs && r.state != RECORD_NONE &&
	    str_equal(r.incarnation, s->incarnation))
		return await_init(p, &b, s, &r, deadline_ms, e);
	/* processes of an older or unknown incarnation are garbage */
	if (runs || r.state != RECORD_NONE) {
		if (local_kill(p, &b, deadline_ms, e) < 0)
			return -1;
		/* a new sandbox has none: finding them reads all sockets */
		local_unlink_sockets(p, &b, &r);
	}
	return start_incarnation(p, &b, s, &r, deadline_ms, e);
}
