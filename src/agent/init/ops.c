/* ops.c: carries out the control operations of init, behind a fence. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/cell/cell.h"
#include "agent/cell/init.h"
#include "agent/cell/launch.h"
#include "agent/init/disk_usage.h"
#include "agent/init/freezer.h"
#include "agent/init/init.h"
#include "agent/init/limit.h"
#include "agent/init/load.h"
#include "agent/init/markers.h"
#include "agent/init/network.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	START_MS = 10000, /* for a wrapper to serve */
	WAIT_MS_MAX = 10000,
	SPARE_MS = 1000 /* see op_launch() */
};

/* Members that most messages have. */
struct op_target {
	char session[ID_MAX];
	int64_t generation;
	int64_t wait_ms;
};

static const struct jfield TARGET[] = {
	JFIELD("session", struct op_target, session, J_STR, J_REQUIRED,
	    ID_SESSION_LEN, ID_SESSION_LEN, "id of the session"),
	JFIELD("generation", struct op_target, generation, J_INT, 0, 1,
	    INT64_MAX, "generation of the wrapper"),
	JFIELD("waitMs", struct op_target, wait_ms, J_INT, 0, 0, WAIT_MS_MAX,
	    "how long to wait for its end"),
};

struct op_request {
	struct init_conn *conn;
	json_t *msg;
	struct channel_fds *fds;
	struct op_target to;
};

/*
 * An operation answers, leaves the connection waiting, or returns -1.  A cell_op
 * gets its cell from pass_fence(), and the poison below stops it from finding a
 * cell itself.  So a late message has no effect on a later generation than its
 * own.
 */
typedef int sandbox_op(struct init *in, struct op_request *r, struct err *e);
typedef int cell_op(struct init *in, struct cell *c, struct op_request *r,
    struct err *e);

enum fence {
	FENCE_LOOKS,   /* any generation or no cell: changes no process */
	FENCE_UP_TO,   /* this generation, an earlier one, or no cell */
	FENCE_EXACT,   /* exactly this generation */
	FENCE_UNSEALED /* exactly this generation, and it is not sealed */
};

/* Checks the fence.  *out: the session's cell, or NULL if it may have none. */
static int
pass_fence(const struct init *in, enum fence fence, const struct op_request *r,
    struct cell **out, struct err *e)
{
	struct cell *c = cells_find(&in->cells, r->to.session);

	*out = c;
	if (fence == FENCE_LOOKS || (fence == FENCE_UP_TO && c == NULL))
		return 0;
	if (c == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_NO_SUCH_SESSION,
		    "the session has no wrapper here");
	if (fence == FENCE_UP_TO ? c->generation > r->to.generation
				 : c->generation != r->to.generation)
		return err_set(e, ERR_CONFLICT, CODE_STALE_GENERATION,
		    "the request is for generation %lld, but %lld runs",
		    (long long)r->to.generation, (long long)c->generation);
	if (fence == FENCE_UNSEALED &&
	    seals_get(&in->seals, c->session) >= c->generation)
		return err_set(e, ERR_CONFLICT, CODE_STALE_GENERATION,
		    "generation %lld is being ended", (long long)c->generation);
	return 0;
}

/* For op launch only: its fence is the seal. */
static const struct cell *
find_running(const struct init *in, const char *session)
{
	return cells_find(&in->cells, session);
}

/* from here on no operation can find a cell past the fence */
#pragma GCC poison cells_find

static int
op_ping(struct init *in, struct op_request *r, struct err *e)
{
	auto_json json_t *reply = json_pack("{s:b, s:s, s:s, s:i, s:I}", "ok",
	    1, "version", PACKAGE_VERSION, "sandbox", in->opt.sandbox, "pid",
	    (int)getpid(), "cells", (json_int_t)in->cells.count);

	(void)e;
	init_answer(r->conn, reply);
	return 0;
}

static int
op_list(struct init *in, struct op_request *r, struct err *e)
{
	auto_json json_t *reply =
	    json_pack("{s:b, s:o}", "ok", 1, "cells", cells_list(&in->cells));

	(void)e;
	init_answer(r->conn, reply);
	return 0;
}

/* ---- looking and ending */

static int
wait_gone(struct init *in, const struct cell *c, struct op_request *r)
{
	str_copy(r->conn->session, ID_MAX, r->to.session);
	r->conn->wait = WAIT_GONE;
	r->conn->until = clock_ms() + r->to.wait_ms;
	r->conn->again = c != NULL ? INT64_MAX : 0;
	init_look(in, r->conn);
	return 0;
}

static int
op_look(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	(void)e;
	return wait_gone(in, c, r);
}

static int
op_seal(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	if (r->to.generation == 0)
		return err_field(e, "generation", "is required");
	seals_put(&in->seals, r->to.session, r->to.generation, clock_ms());
	r->to.wait_ms = 0;
	return wait_gone(in, c, r);
}

static void
signal_all(struct cell *c, const char *session, int sig)
{
	if (c != NULL) {
		kill(c->pid, sig);
		freezer_release(c);
	}
	markers_signal(session, sig);
}

/*
 * Sends the reason to the wrapper, before SIGTERM: when a process of the tenant
 * dies of the signal, the wrapper must know the reason already.  A wrapper that
 * takes no messages is ended without it.
 */
static void
tell_reason(const struct cell *c, const json_t *term)
{
	auto_json json_t *msg = json_pack("{s:s, s:s, s:s, s:I}", "op",
	    "ending", "reason", json_str(term, "reason"), "cause",
	    json_str(term, "cause"), "graceMs",
	    json_integer_value(json_object_get(term, "graceMs")));
	struct err ignored;

	if (msg != NULL && c->serving && c->channel >= 0)
		(void)!channel_send(c->channel, msg, NULL, 0, &ignored);
}

static int
op_term(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	auto_json json_t *reply = json_pack("{s:b}", "ok", 1);

	(void)in;
	(void)e;
	if (c != NULL)
		tell_reason(c, r->msg);
	signal_all(c, r->to.session, SIGTERM);
	init_answer(r->conn, reply);
	return 0;
}

static int
op_kill(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	(void)e;
	signal_all(c, r->to.session, SIGKILL);
	return wait_gone(in, c, r);
}

/* ---- the disk */

/* A child measures, so that init can go on; only one at a time. */
static int
op_usage(struct init *in, struct op_request *r, struct err *e)
{
	pid_t pid;

	if (in->measuring > 0)
		return err_set(e, ERR_BUSY, CODE_BUSY,
		    "disk usage is being measured already");
	pid = fork();
	if (pid < 0)
		return err_errno(e, "fork");
	if (pid == 0) {
		auto_json json_t *reply = json_pack("{s:b, s:o}", "ok", 1,
		    "cells", disk_usage_cells(&in->cells));
		struct err ignored;

		(void)!channel_send(r->conn->fd, reply, NULL, 0, &ignored);
		_exit(0);
	}
	in->measuring = pid;
	init_conn_free(r->conn);
	return 0;
}

/* ---- processes */

/* Takes the load; null: there is no such cell. */
static int
answer_load(struct op_request *r, json_t *load)
{
	auto_json json_t *reply =
	    json_pack("{s:b, s:o}", "ok", 1, "load", load);

	init_answer(r->conn, reply);
	return 0;
}

static int
op_load(struct init *in, struct op_request *r, struct err *e)
{
	(void)in;
	(void)e;
	return answer_load(r, load_below(getpid()));
}

static int
op_cell_load(struct init *in, struct cell *c, struct op_request *r,
    struct err *e)
{
	(void)in;
	(void)e;
	return answer_load(r, c != NULL ? load_below(c->pid) : json_null());
}

/* Signals the cell's first process, which stops or continues all others. */
static int
signal_cell(const struct cell *c, struct op_request *r, int sig)
{
	auto_json json_t *reply = json_pack("{s:b}", "ok", 1);

	kill(c->pid, sig);
	init_answer(r->conn, reply);
	return 0;
}

static int
op_stop_signal(struct init *in, struct cell *c, struct op_request *r,
    struct err *e)
{
	(void)in;
	(void)e;
	return signal_cell(c, r, CELL_SIG_STOP);
}

static int
op_continue_signal(struct init *in, struct cell *c, struct op_request *r,
    struct err *e)
{
	(void)in;
	(void)e;
	return signal_cell(c, r, CELL_SIG_GO_ON);
}

/* ---- launch */

/* 0: the launch may start; 1: refused and answered; -1: refused. */
static int
check_launch(struct init *in, struct op_request *r, const struct launch *l,
    struct err *e)
{
	const struct cell *there = find_running(in, l->session);
	size_t announced = LAUNCH_PORTS + l->port_count + (size_t)l->cgroups;

	if (seals_hold(&in->seals, l->session, l->generation, l->intent_ms))
		return err_set(e, ERR_CONFLICT, CODE_STALE_GENERATION,
		    "generation %lld may have ended already",
		    (long long)l->generation);
	if (there != NULL) {
		auto_json json_t *reply = json_pack("{s:b, s:s, s:s, s:s, s:I}",
		    "ok", 0, "code", code_word(CODE_ALREADY_RUNNING), "message",
		    "the session has a cell already", "instance",
		    there->instance, "generation",
		    (json_int_t)there->generation);

		init_answer(r->conn, reply);
		return 1;
	}
	if (r->fds->count != announced)
		return err_set(e, ERR_INVALID, CODE_LAUNCH_FAILED,
		    "%zu descriptors came with a launch that needs %zu",
		    r->fds->count, announced);
	if (in->cells.count == CELLS_MAX)
		return err_set(e, ERR_LIMITED, CODE_LAUNCH_FAILED,
		    "a sandbox can have at most %d sessions", CELLS_MAX);
	return 0;
}

/*
 * Whether the next cell has init's network namespace, which saves one: if no
 * other cell lives, as in a sandbox of one session.  No other cell ever has the
 * same one, and nothing of an earlier generation is in it.
 */
static int
share_network(struct init *in, bool *shared, struct err *e)
{
	*shared = in->cells.count == 0;
	if (!*shared)
		return 0;
	if (!in->network_unused && network_renew(e) < 0)
		return -1;
	in->network_unused = false;
	return 0;
}

static int
start_cell(struct init *in, struct op_request *r, const struct launch *l,
    struct err *e)
{
	auto_fd int ours = -1, theirs = -1;
	size_t sockets = LAUNCH_PORTS + l->port_count;
	struct cell c = { .generation = l->generation,
		.freezer = -1,
		.egress = -1,
		.start_by = clock_ms() + START_MS,
		.memory_mb = l->memory_mb,
		.disk_mb = l->file_mb };
	bool shared;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_errno(e, "socketpair");
	ours = ends[0];
	theirs = ends[1];
	/* a wrapper that does not read must not block init */
	fcntl(ours, F_SETFL, O_NONBLOCK);
	if (in->opt.writable_root)
		json_object_set_new(json_object_get(r->msg, "user"), "name",
		    json_string("root"));
	if (channel_send(ours, r->msg, r->fds->fd, sockets, e) < 0 ||
	    share_network(in, &shared, e) < 0)
		return -1;
	c.pid = cell_start(&(struct cell_options){ .launch = l,
			       .agent = in->agent,
			       .channel = theirs,
			       .cgroups = r->fds->fd + sockets,
			       .cgroup_count = (size_t)l->cgroups,
			       .writable_root = in->opt.writable_root,
			       .keeps_network = shared },
	    e);
	if (c.pid < 0)
		return -1;
	c.channel = take_fd(&ours);
	str_copy(c.session, sizeof(c.session), l->session);
	str_copy(c.instance, sizeof(c.instance), l->instance);
	return cells_add(&in->cells, &c, e);
}

static int
op_launch(struct init *in, struct op_request *r, struct err *e)
{
	struct launch l;
	int rc;

	if (launch_decode(r->msg, &l, e) < 0)
		return -1;
	rc = check_launch(in, r, &l, e);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (start_cell(in, r, &l, e) < 0) {
		e->code = CODE_LAUNCH_FAILED;
		return -1;
	}
	r->conn->wait = WAIT_SERVING;
	/* longer than the cell's start_by, whose error names the reason */
	r->conn->until = clock_ms() + START_MS + SPARE_MS;
	str_copy(r->conn->session, ID_MAX, l.session);
	return 0;
}

/* ---- network */

/*
 * The connection with "base" stays open as long as the cell lives, so that
 * egress notices the cell's end.
 */
static int
op_network(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	(void)in;
	if (network_open_sockets(c, r->msg, r->conn->fd, e) < 0)
		return -1;
	if (json_is_true(json_object_get(r->msg, "base"))) {
		mem_close_fd(&c->egress);
		c->egress = take_fd(&r->conn->fd);
	}
	init_conn_free(r->conn);
	return 0;
}

/* ---- freezing */

static int
op_freeze(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	auto_json json_t *reply = json_pack("{s:b}", "ok", 1);

	(void)in;
	if (freezer_freeze(c, r->msg, r->fds, e) < 0)
		return -1;
	init_answer(r->conn, reply);
	return 0;
}

static int
op_thaw(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	auto_json json_t *reply = json_pack("{s:b}", "ok", 1);

	(void)in;
	if (freezer_thaw(c, r->msg, e) < 0)
		return -1;
	init_answer(r->conn, reply);
	return 0;
}

/* ---- forwarded */

static int
op_forward(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	int fds[CHANNEL_FDS_MAX];
	size_t n = r->fds->count;

	(void)in;
	if (!c->serving || c->channel < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_NOT_SERVING,
		    "the wrapper does not serve yet");
	if (n >= CHANNEL_FDS_MAX)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "too many descriptors");
	memcpy(fds, r->fds->fd, n * sizeof(fds[0]));
	fds[n] = r->conn->fd;
	if (channel_send(c->channel, r->msg, fds, n + 1, e) < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_WRAPPER_UNRESPONSIVE,
		    "the wrapper does not take messages");
	/* the wrapper answers on its copy of the descriptor */
	init_conn_free(r->conn);
	return 0;
}

/* The wrapper has a part in it. */
static int
op_limit(struct init *in, struct cell *c, struct op_request *r, struct err *e)
{
	if (limit_cell(c, r->msg, e) < 0)
		return -1;
	return op_forward(in, c, r, e);
}

/* An operation on the sandbox, or on a cell behind a fence. */
struct op {
	const char *name;
	sandbox_op *of_sandbox;
	cell_op *of_cell;
	enum fence fence;
};

#define SANDBOX(name, fn)                                                      \
	{                                                                      \
		name, fn, NULL, FENCE_LOOKS                                    \
	}
#define CELL(name, fence, fn)                                                  \
	{                                                                      \
		name, NULL, fn, FENCE_##fence                                  \
	}

/* clang-format off */
static const struct op OPS[] = {
	SANDBOX("ping", op_ping),
	SANDBOX("list", op_list),
	SANDBOX("launch", op_launch),
	SANDBOX("usage", op_usage),
	SANDBOX("load", op_load),
	CELL("cell_load", LOOKS, op_cell_load),
	CELL("look", LOOKS, op_look),
	CELL("seal", LOOKS, op_seal),
	CELL("term", UP_TO, op_term),
	CELL("kill", UP_TO, op_kill),
	CELL("halt", EXACT, op_stop_signal),
	CELL("go_on", EXACT, op_continue_signal),
	CELL("freeze", UNSEALED, op_freeze),
	CELL("thaw", UNSEALED, op_thaw),
	CELL("network", UNSEALED, op_network),
	CELL("prove", EXACT, op_forward),
	CELL("adopt", EXACT, op_forward),
	CELL("limit", EXACT, op_limit),
	CELL("write", EXACT, op_forward),
	CELL("env", EXACT, op_forward),
	CELL("trust", EXACT, op_forward),
	CELL("setup", EXACT, op_forward),
	CELL("keep", EXACT, op_forward),
	CELL("status", EXACT, op_forward),
	CELL("keys", EXACT, op_forward),
	CELL("interrupt", EXACT, op_forward),
	CELL("interrupt_shell", EXACT, op_forward),
	CELL("expose", EXACT, op_forward),
	CELL("unexpose", EXACT, op_forward),
	CELL("ws_bounce", EXACT, op_forward),
	CELL("attempt_put", EXACT, op_forward),
	CELL("attempt_ask", EXACT, op_forward),
	CELL("attempt_cancel", EXACT, op_forward),
	CELL("attempt_read", EXACT, op_forward),
	CELL("attempt_kept", EXACT, op_forward),
};
/* clang-format on */

static int
dispatch_op(struct init *in, struct op_request *r, struct err *e)
{
	const char *name = json_str(r->msg, "op");
	const struct op *op = NULL;
	struct cell *c;

	if (!str_equal(json_str(r->msg, "incarnation"), in->opt.incarnation))
		return err_set(e, ERR_CONFLICT, CODE_WRONG_INCARNATION,
		    "this sandbox is another incarnation");
	for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
		if (str_equal(OPS[i].name, name))
			op = &OPS[i];
	if (op == NULL)
		return err_set(e, ERR_INVALID, CODE_UNKNOWN_OP,
		    "no such operation");
	if (op->of_sandbox != NULL)
		return op->of_sandbox(in, r, e);
	if (jfield_decode(r->msg, TARGET, ARRAY_LEN(TARGET), J_LENIENT, &r->to,
		e) < 0 ||
	    pass_fence(in, op->fence, r, &c, e) < 0)
		return -1;
	return op->of_cell(in, c, r, e);
}

void
init_op(struct init *in, struct init_conn *c, json_t *msg,
    struct channel_fds *fds)
{
	struct op_request r = { .conn = c, .msg = msg, .fds = fds };
	struct err e = { 0 };

	if (dispatch_op(in, &r, &e) < 0)
		init_refuse(c, &e);
}
