/* ensure.c: creating, starting or adopting a sandbox. */
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
 * A tombstone is not kept for ever, so a caller who slept must not start what
 * it refused before.  Under the lock: whoever buries a tombstone takes it, too.
 */
static int
check_time(int64_t deadline_ms, struct err *e)
{
	if (clock_left_ms(deadline_ms) > 0)
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
	    "the time for this start is over");
}

/* The last whole line in what the start has added to the log. */
static void
last_line(const struct box *b, int64_t from, char *out, size_t size)
{
	auto_buf struct buf text = { 0 };
	struct err ignored; /* then there is nothing to add */
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

/* Makes "bwrap gave up" into a sentence that says why. */
static int
explain(const struct box *b, int64_t from, struct err *e)
{
	char line[ERR_MSG_MAX / 2];

	last_line(b, from, line, sizeof(line));
	if (line[0] == '\0')
		return -1;
	return err_set(e, ERR_UNAVAILABLE, CODE_START_FAILED,
	    "the sandbox could not be started: %s", line);
}

/* What is installed beside another program. */
static char *
beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	int len = slash != NULL ? (int)(slash + 1 - path) : 0;

	return xasprintf("%.*s%s", len, path, name);
}

static int
launch(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, const struct cgroup_tree *t, int lock,
    int log, int64_t deadline_ms, struct err *e)
{
	auto_free char *storage = storage_path(p, b->name);
	auto_free char *path = local_control_path(p, b->name, s->incarnation);
	auto_free char *ws = beside(p->conf->agent_path, "sandlease-ws");
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
	struct start start = { .p = p,
		.box = b,
		.cgroups = t,
		.control = control,
		.lock = lock,
		.log = log };

	if (control < 0 || rootfs_hold(s->rootfs, &root, e) < 0 ||
	    bwrap_argv(&spec, &argv, e) < 0)
		return -1;
	start.root = root;
	start.argv = argv.v;
	return start_bwrap(&start, deadline_ms, e);
}

/* Waits for init's word; from then on the incarnation is live. */
static int
await(const struct provider *p, const struct box *b,
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

/* What is left of a start that failed must not stay. */
static int
clean_up(const struct provider *p, const struct box *b,
    const struct sandbox_spec *s, int64_t deadline_ms)
{
	auto_free char *path = local_control_path(p, b->name, s->incarnation);
	struct err ignored; /* the first error is the one to tell */

	unlink(path);
	(void)!local_kill(p, b, deadline_ms, &ignored);
	return -1;
}

static int
start(const struct provider *p, const struct box *b,
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
	/* the groups of now: those on record belonged to an earlier life */
	rc = cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
		box_set_cgroups(b, &t, e) < 0 ||
		cgroup_make(&t, b->name, s, e) < 0 ||
		storage_make_box(p, b->name, e) < 0
	    ? -1
	    : 0;
	CRASH_POINT("ensure.prepared");
	if (rc == 0)
		rc = launch(p, b, s, &t, lock, log, deadline_ms, e);
	CRASH_POINT("ensure.started");
	mem_close_fd(&lock); /* or we would hold it ourselves */
	if (rc == 0)
		rc = await(p, b, s, r, deadline_ms, e);
	if (rc == 0 || e->code == CODE_TIMED_OUT)
		return rc; /* a slow one may still come: the next call adopts */
	explain(b, st.st_size, e);
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
	    check_time(deadline_ms, e) < 0 || box_record(&b, &r, e) < 0 ||
	    local_may_run(p, &b, &runs, e) < 0 ||
	    record_check_ensure(&r, s, runs, e) < 0)
		return -1;
	if (runs && r.state != RECORD_NONE &&
	    str_equal(r.incarnation, s->incarnation))
		return await(p, &b, s, &r, deadline_ms, e);
	/* whatever runs is an older one's, or nobody's: garbage */
	if ((runs || r.state != RECORD_NONE) &&
	    local_kill(p, &b, deadline_ms, e) < 0)
		return -1;
	local_unlink_sockets(p, &b, &r);
	return start(p, &b, s, &r, deadline_ms, e);
}
