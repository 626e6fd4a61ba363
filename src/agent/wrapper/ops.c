/* ops.c: carries out the operations that init forwards to the wrapper. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/api/setup.h"
#include "agent/archive/snapshot_export.h"
#include "agent/attempt/attempt.h"
#include "agent/base/proctree.h"
#include "agent/base/serve.h"
#include "agent/cell/launch.h"
#include "agent/cell/limits_view.h"
#include "agent/cell/rlimits.h"
#include "agent/files/files.h"
#include "agent/files/temp_file.h"
#include "agent/pty/pty.h"
#include "agent/relay/relay.h"
#include "agent/run/activity.h"
#include "agent/run/interrupt.h"
#include "agent/run/pump.h"
#include "agent/shell/envset.h"
#include "agent/shell/exec.h"
#include "agent/shell/shell.h"
#include "agent/wrapper/adopt.h"
#include "agent/wrapper/keys.h"
#include "agent/wrapper/trust.h"
#include "agent/wrapper/wrapper.h"
#include "agent/ws/door.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "web/server.h"

enum {
	OPS_AT_ONCE = 32,
	PROVE_MS = 10000,
	PROVE_OUTPUT_MAX = 64,
	SHELL_FREE_MS = 20
};

struct op {
	json_t *msg;
	struct channel_fds fds;
	int conn;
};

static atomic_int running;

/* ---- prove */

static void
prove_output(void *ctx, int which, const char *data, size_t len)
{
	struct buf *to = ctx;

	if (which == 0 && to->len + len <= PROVE_OUTPUT_MAX)
		buf_add(to, data, len);
}

/*
 * Proves by a process of its own.  After a thaw the default shell may still run
 * the command that it ran before the freeze.
 */
static int
prove_beside(struct buf *output, struct err *e)
{
	struct exec x = { .command = "printf ready",
		.shell = EXEC_SESSIONLESS,
		.timeout_ms = PROVE_MS,
		.output = prove_output,
		.ctx = output };
	struct shell_outcome how;

	return exec_beside(&x, &how, e);
}

/*
 * Runs a real command in the default shell.  This needs no process of its own,
 * and the first call finds the shell running.  No deadline is needed, because
 * the host has one for its wait.
 */
static int
run_proof(struct buf *output, struct err *e)
{
	static const struct shell_command PROOF = {
		.command = "\\builtin printf ready",
		.cwd = ""
	};
	struct pump p = { .out = { -1, -1 },
		.status_fd = -1,
		.script_fd = -1,
		.wake_fd = -1,
		.pidfd = -1,
		.output = prove_output,
		.output_ctx = output };
	struct shell_outcome how;
	struct shell *s;
	int rc;

	if (shell_hold("default", NULL, clock_ms() + SHELL_FREE_MS, &s, e) < 0)
		return e->kind == ERR_BUSY ? prove_beside(output, e) : -1;
	rc = shell_run(s, &PROOF, &p, &how, e);
	shell_release(s);
	if (rc == 0 && how.exit_code != 0)
		return err_set(e, ERR_INTERNAL, CODE_NOT_READY,
		    "the command ended with exit code %d", how.exit_code);
	return rc;
}

static int
op_prove(struct op *op, json_t *reply, struct err *e)
{
	auto_buf struct buf output = { 0 };

	(void)op;
	if (run_proof(&output, e) < 0)
		return -1;
	json_object_set_new(reply, "output",
	    json_string(output.data != NULL ? output.data : ""));
	return 0;
}

/* ---- adopt */

/* With `prove`, a command in the session's shell is the proof, as of prove. */
static int
op_adopt(struct op *op, json_t *reply, struct err *e)
{
	if (adopt(op->msg, e) < 0)
		return -1;
	json_object_set_new(reply, "version", json_string(PACKAGE_VERSION));
	return json_is_true(json_object_get(op->msg, "prove"))
	    ? op_prove(op, reply, e)
	    : 0;
}

/* ---- limit */

/* Lowers the limits of the cell; init has done its part. */
static int
op_limit(struct op *op, json_t *reply, struct err *e)
{
	struct launch l = { .pids = 0 };

	(void)reply;
	if (launch_decode_limits(op->msg, &l, e) < 0 ||
	    rlimits_lower(&l, e) < 0)
		return -1;
	if (l.shown_memory_mb > 0)
		limits_view_resize(l.shown_memory_mb);
	return 0;
}

/* ---- other operations */

struct write_body {
	char path[FILES_PATH_MAX];
	int64_t mode;
};

static const struct jfield WRITE[] = {
	JFIELD("path", struct write_body, path, J_STR, J_REQUIRED, 1,
	    FILES_PATH_MAX - 1, "path of the file"),
	JFIELD("mode", struct write_body, mode, J_INT, 0, -1, 07777,
	    "permissions"),
};

static int
op_write(struct op *op, json_t *reply, struct err *e)
{
	struct write_body b = { .mode = -1 };
	char path[FILES_PATH_MAX];

	(void)reply;
	if (jfield_decode(op->msg, WRITE, ARRAY_LEN(WRITE), J_LENIENT, &b, e) <
		0 ||
	    files_resolve("/workspace", b.path, path, e) < 0)
		return -1;
	if (op->fds.count < 1 || op->fds.fd[0] < 0)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the message must have a descriptor");
	return temp_file_write_file(path,
	    &(struct temp_file_source){ .fd = op->fds.fd[0] }, (int)b.mode, e);
}

static int
op_env(struct op *op, json_t *reply, struct err *e)
{
	const json_t *env = json_object_get(op->msg, "env");

	(void)reply;
	if (env == NULL)
		return err_field(e, "env", "is required");
	if (envset_check(env, "env", e) < 0)
		return -1;
	return envset_merge(env,
	    json_is_true(json_object_get(op->msg, "whole")), e);
}

static int
op_trust(struct op *op, json_t *reply, struct err *e)
{
	(void)reply;
	return trust_write(json_str(op->msg, "certificate"), e);
}

static const struct jfield SETUP[] = {
	JFIELD("timeoutMs", struct setup_question, timeout_ms, J_INT, 0, 0,
	    INT64_MAX, "time limit of the command"),
	JFIELD("offset", struct setup_question, offset, J_INT, 0, 0, INT64_MAX,
	    "bytes of output that the host has"),
	JFIELD("waitMs", struct setup_question, wait_ms, J_INT, 0, 0, 60000,
	    "wait for more output"),
};

static int
op_setup(struct op *op, json_t *reply, struct err *e)
{
	struct setup_question q = { .fd = -1 };

	if (jfield_decode(op->msg, SETUP, ARRAY_LEN(SETUP), J_LENIENT, &q, e) <
	    0)
		return -1;
	if (op->fds.count > 0)
		q.fd = op->fds.fd[0];
	return setup_ask(&q, reply, e);
}

static int
op_keys(struct op *op, json_t *reply, struct err *e)
{
	json_t *keys = keys_asked();

	(void)op, (void)e;
	json_object_set_new(reply, "keys", keys != NULL ? keys : json_array());
	return 0;
}

static int
op_status(struct op *op, json_t *reply, struct err *e)
{
	int64_t run = activity_count(ACTIVITY_RUNNING);
	int64_t streams = activity_count(ACTIVITY_STREAMS);
	auto_json json_t *keys = keys_asked();

	(void)e;
	json_object_set_new(reply, "busy", json_boolean(run + streams > 0));
	json_object_set_new(reply, "running", json_integer(run));
	json_object_set_new(reply, "streams", json_integer(streams));
	json_object_set_new(reply, "relays",
	    json_integer(activity_count(ACTIVITY_RELAYS)));
	json_object_set_new(reply, "idleMs", json_integer(activity_idle_ms()));
	json_object_set_new(reply, "relayIdleMs",
	    json_integer(activity_relay_idle_ms()));
	json_object_set_new(reply, "quietMs",
	    json_integer(activity_quiet_ms()));
	json_object_set_new(reply, "limitMs",
	    json_integer(activity_limit_ms()));
	json_object_set_new(reply, "served", json_integer(activity_served()));
	json_object_set_new(reply, "keys",
	    json_integer((json_int_t)json_array_size(keys)));
	/* walks all of /proc: only if the host suspects a stuck session */
	if (json_is_true(json_object_get(op->msg, "cpu")))
		json_object_set_new(reply, "cpuMs",
		    json_integer(proctree_cpu_ms()));
	return 0;
}

static int
interrupt_and_count(const struct interrupt_meant *m, json_t *reply,
    struct err *e)
{
	size_t count, terminals = pty_interrupt_all(m->shell, m->older_ms);

	if (interrupt_these(m, &count, e) < 0)
		return -1;
	json_object_set_new(reply, "interrupted",
	    json_integer((json_int_t)(count + terminals)));
	return 0;
}

static const struct jfield INTERRUPT[] = {
	JFIELD("olderMs", struct interrupt_meant, older_ms, J_INT, 0, 0,
	    INT64_MAX, "only commands that began at least so long ago"),
};

static int
op_interrupt(struct op *op, json_t *reply, struct err *e)
{
	struct interrupt_meant m = { 0 };

	if (jfield_decode(op->msg, INTERRUPT, ARRAY_LEN(INTERRUPT), J_LENIENT,
		&m, e) < 0)
		return -1;
	return interrupt_and_count(&m, reply, e);
}

struct interrupt_shell_body {
	char shell[SHELL_NAME_MAX];
};

static const struct jfield INTERRUPT_SHELL[] = {
	JFIELD("shell", struct interrupt_shell_body, shell, J_STR, J_REQUIRED,
	    1, SHELL_NAME_MAX - 1, "only commands in it or beside it"),
};

/*
 * Not a member of `interrupt`: an agent of an older release would ignore the
 * member and end every command.  It refuses an operation that it does not know.
 */
static int
op_interrupt_shell(struct op *op, json_t *reply, struct err *e)
{
	struct interrupt_shell_body b = { 0 };

	if (jfield_decode(op->msg, INTERRUPT_SHELL, ARRAY_LEN(INTERRUPT_SHELL),
		J_LENIENT, &b, e) < 0)
		return -1;
	return interrupt_and_count(
	    &(struct interrupt_meant){ .shell = b.shell }, reply, e);
}

struct port_body {
	int64_t port;
	int64_t order;
};

static const struct jfield PORT[] = {
	JFIELD("port", struct port_body, port, J_INT, J_REQUIRED, 1, 65535,
	    "port inside the cell"),
	JFIELD("order", struct port_body, order, J_INT, 0, 0, INT64_MAX,
	    "number of the change"),
};

static int
op_expose(struct op *op, json_t *reply, struct err *e)
{
	struct port_body b = { 0 };
	int fd;

	(void)reply;
	if (jfield_decode(op->msg, PORT, ARRAY_LEN(PORT), J_LENIENT, &b, e) < 0)
		return -1;
	fd = channel_fds_take(&op->fds, 0);
	if (fd < 0)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the message must have a descriptor");
	return relay_expose((int)b.port, b.order, fd, e);
}

static int
op_unexpose(struct op *op, json_t *reply, struct err *e)
{
	struct port_body b = { 0 };

	(void)reply;
	if (jfield_decode(op->msg, PORT, ARRAY_LEN(PORT), J_LENIENT, &b, e) < 0)
		return -1;
	return relay_unexpose((int)b.port, b.order, e);
}

/*
 * A key was revoked: ends all WebSockets, and calls whose body is not complete.
 * Clients must connect again with a valid key.  The answer is sent after the
 * connections have ended.
 */
static int
op_ws_bounce(struct op *op, json_t *reply, struct err *e)
{
	(void)op, (void)reply, (void)e;
	server_turn_away();
	ws_door_bounce();
	return 0;
}

static int
op_snapshot_export(struct op *op, json_t *reply, struct err *e)
{
	int fd = channel_fds_take(&op->fds, 0);

	(void)reply;
	if (fd < 0)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the message must have a descriptor");
	return snapshot_export_send(fd, e);
}

static int
op_attempt_put(struct op *op, json_t *reply, struct err *e)
{
	return attempt_put(op->msg, &op->fds, reply, e);
}

static int
op_attempt_ask(struct op *op, json_t *reply, struct err *e)
{
	auto_json json_t *keys = NULL;

	if (attempt_ask(op->msg, reply, e) < 0)
		return -1;
	if (str_equal(json_str(reply, "state"),
		ATTEMPT_STATE_NAMES[ATTEMPT_ENDED]))
		keys = keys_asked();
	if (keys != NULL)
		json_object_set(reply, "keys", keys);
	return 0;
}

static int
op_attempt_cancel(struct op *op, json_t *reply, struct err *e)
{
	return attempt_cancel(op->msg, reply, e);
}

static int
op_attempt_read(struct op *op, json_t *reply, struct err *e)
{
	return attempt_read(op->msg, &op->fds, reply, e);
}

static int
op_attempt_kept(struct op *op, json_t *reply, struct err *e)
{
	(void)reply;
	return attempt_kept(op->msg, e);
}

static const struct {
	const char *name;
	int (*run)(struct op *op, json_t *reply, struct err *e);
} OPS[] = {
	{ "prove", op_prove },
	{ "adopt", op_adopt },
	{ "limit", op_limit },
	{ "write", op_write },
	{ "env", op_env },
	{ "trust", op_trust },
	{ "setup", op_setup },
	{ "keep", op_snapshot_export },
	{ "status", op_status },
	{ "keys", op_keys },
	{ "interrupt", op_interrupt },
	{ "interrupt_shell", op_interrupt_shell },
	{ "expose", op_expose },
	{ "unexpose", op_unexpose },
	{ "ws_bounce", op_ws_bounce },
	{ "attempt_put", op_attempt_put },
	{ "attempt_ask", op_attempt_ask },
	{ "attempt_cancel", op_attempt_cancel },
	{ "attempt_read", op_attempt_read },
	{ "attempt_kept", op_attempt_kept },
};

/* ---- dispatch */

static int
perform_op(struct op *op, json_t *reply, struct err *e)
{
	const char *name = json_str(op->msg, "op");

	for (size_t i = 0; i < ARRAY_LEN(OPS); i++)
		if (str_equal(OPS[i].name, name))
			return OPS[i].run(op, reply, e);
	return err_set(e, ERR_INVALID, CODE_UNKNOWN_OP, "no such operation");
}

static void
send_answer(struct op *op, json_t *reply, int rc, const struct err *e)
{
	struct err ignored;

	json_object_set_new(reply, "ok", json_boolean(rc == 0));
	if (rc < 0) {
		json_object_set_new(reply, "code",
		    json_string(code_word(e->code)));
		json_object_set_new(reply, "message",
		    e->field[0] != '\0'
			? json_sprintf("%s: %s", e->field, e->msg)
			: json_string(e->msg));
	}
	/* do not block on a caller that does not read */
	fcntl(op->conn, F_SETFL, O_NONBLOCK);
	(void)!channel_send(op->conn, reply, NULL, 0, &ignored);
}

static void
free_op(struct op *op)
{
	json_release(&op->msg);
	channel_fds_close(&op->fds);
	close(op->conn);
	free(op);
	atomic_fetch_sub(&running, 1);
}

static void *
run_op(void *arg)
{
	struct op *op = arg;
	auto_json json_t *reply = json_object();
	struct err e = { 0 };
	int rc = perform_op(op, reply, &e);

	if (rc < 0)
		log_err(LOG_WARN, "op_failed", &e);
	send_answer(op, reply, rc, &e);
	free_op(op);
	return NULL;
}

void
wrapper_op(json_t *msg, struct channel_fds *fds, int conn)
{
	struct op *op = xcalloc(1, sizeof(*op));
	auto_json json_t *reply = NULL;
	struct err e;

	*op = (struct op){ .msg = msg, .fds = *fds, .conn = conn };
	fds->count = 0;
	if (atomic_fetch_add(&running, 1) < OPS_AT_ONCE &&
	    serve_thread(run_op, op) == 0)
		return;
	err_set(&e, ERR_UNAVAILABLE, CODE_BUSY, "too many operations at once");
	reply = json_object();
	send_answer(op, reply, -1, &e);
	free_op(op);
}
