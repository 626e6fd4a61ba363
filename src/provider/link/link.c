/* link.c: sends requests to the agent's init and decodes its replies. */
#include "provider/link/link.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/correlation.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/wire.h"

enum { WAIT_MAX_MS = 10000, MESSAGE_MAX = ERR_MSG_MAX / 2 - 1 };

/* A hundred years: the database may not accept a longer time. */
#define MS_MAX (INT64_C(100) * 366 * 86400 * 1000)

/* The agent's codes that callers distinguish, as kind and code of *e. */
static const struct {
	enum err_code said;
	enum err_kind kind;
	enum err_code code;
	const char *op; /* only in replies to this op; NULL: to any */
} CODES[] = {
	{ CODE_WRONG_INCARNATION, ERR_CONFLICT, CODE_STALE_INCARNATION },
	{ CODE_STALE_GENERATION, ERR_CONFLICT, CODE_STALE_GENERATION },
	{ CODE_ALREADY_RUNNING, ERR_CONFLICT, CODE_ALREADY_RUNNING },
	{ CODE_ALREADY_ADOPTED, ERR_UNAVAILABLE, CODE_ALREADY_ADOPTED },
	/* the session exists, but init has no cell of it: it has just ended */
	{ CODE_NO_SUCH_SESSION, ERR_UNAVAILABLE, CODE_WRAPPER_UNAVAILABLE },
	{ CODE_LAUNCH_FAILED, ERR_UNAVAILABLE, CODE_LAUNCH_FAILED },
	{ CODE_BUSY, ERR_BUSY, CODE_BUSY },
	{ CODE_STILL_RUNNING, ERR_UNAVAILABLE, CODE_STILL_RUNNING },
	{ CODE_STALE_ORDER, ERR_CONFLICT, CODE_STALE_ORDER },
	{ CODE_CANNOT_SUSPEND, ERR_CONFLICT, CODE_CANNOT_SUSPEND },
	{ CODE_NO_SPACE, ERR_NO_SPACE, CODE_NO_SPACE_LEFT },
	{ CODE_CANNOT_KEEP, ERR_CONFLICT, CODE_SNAPSHOT_FAILED },
	{ CODE_UNKNOWN_OP, ERR_INVALID, CODE_UNKNOWN_OP },
	{ CODE_EXECUTION_QUEUE_FULL, ERR_LIMITED, CODE_EXECUTION_QUEUE_FULL },
	/* the file cannot be written at the path that the caller wanted */
	{ CODE_IS_DIRECTORY, ERR_INVALID, CODE_IS_DIRECTORY, "write" },
	{ CODE_NOT_DIRECTORY, ERR_INVALID, CODE_NOT_DIRECTORY, "write" },
	{ CODE_PERMISSION_DENIED, ERR_INVALID, CODE_PERMISSION_DENIED,
	    "write" },
	{ CODE_READ_ONLY, ERR_INVALID, CODE_READ_ONLY, "write" },
	{ CODE_NAME_TOO_LONG, ERR_INVALID, CODE_NAME_TOO_LONG, "write" },
	{ CODE_TOO_MANY_LINKS, ERR_INVALID, CODE_TOO_MANY_LINKS, "write" },
	{ CODE_RESOURCE_BUSY, ERR_INVALID, CODE_RESOURCE_BUSY, "write" },
	/* the wrapper is being started, does not read, or has just died */
	{ CODE_NOT_SERVING, ERR_UNAVAILABLE, CODE_NOT_SERVING },
	{ CODE_WRAPPER_UNRESPONSIVE, ERR_UNAVAILABLE,
	    CODE_WRAPPER_UNRESPONSIVE },
};

/*
 * Turns a refusal of the agent into *e.  Control characters in its message
 * become spaces, because the agent is not trusted.  A code that is not in the
 * table, perhaps of another release, stays readable in the message.
 */
static int
set_refusal(const char *op, const json_t *reply, struct err *e)
{
	const char *word = json_str(reply, "code");
	const char *message = json_str(reply, "message");
	enum err_code said = code_parse(word);

	err_set(e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
	    "the agent refused with \"%.40s\": %.*s", word, MESSAGE_MAX,
	    message);
	for (size_t i = 0; i < ARRAY_LEN(CODES); i++)
		if (CODES[i].said == said &&
		    (CODES[i].op == NULL || str_equal(CODES[i].op, op)))
			err_set(e, CODES[i].kind, CODES[i].code, "%.*s",
			    MESSAGE_MAX, message);
	for (char *c = e->msg; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	return -1;
}

int
agent_ask_send(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, struct err *e)
{
	auto_json json_t *body = TAKE(q->body);
	auto_fd int sock = -1;

	if (body == NULL)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "the control message to the agent is not valid UTF-8");
	json_object_set_new(body, "op", json_string(q->op));
	json_object_set_new(body, "incarnation", json_string(incarnation));
	if (fault_before("agent", q->op, e) < 0)
		return -1;
	sock = p->ops->open_channel(p, sandbox, incarnation, e);
	if (sock < 0 || channel_send(sock, body, q->fds, q->fd_count, e) < 0)
		return err_wrap(e, "agent %s", q->op);
	return take_fd(&sock);
}

int
agent_bad_reply(struct err *e, const char *op)
{
	err_wrap(e, "agent %s: the answer cannot be understood", op);
	e->kind = ERR_BAD_GATEWAY;
	e->code = CODE_AGENT_ERROR;
	e->field[0] = '\0';
	return -1;
}

int
agent_ask_recv(int sock, const char *op, int64_t deadline_ms, json_t **reply,
    struct err *e)
{
	auto_json json_t *answer = NULL;
	auto_fds struct channel_fds fds = { 0 };

	*reply = NULL;
	if (channel_recv(sock, deadline_ms, &answer, &fds, e) < 0)
		return e->kind == ERR_INVALID || e->kind == ERR_TOO_LARGE
		    ? agent_bad_reply(e, op)
		    : err_wrap(e, "agent %s", op);
	if (!json_is_true(json_object_get(answer, "ok")))
		return set_refusal(op, answer, e);
	if (fault_after("agent", op, e) < 0)
		return -1;
	*reply = TAKE(answer);
	return 0;
}

int
agent_ask(const struct provider *p, const char *sandbox,
    const char *incarnation, struct agent_question *q, int64_t deadline_ms,
    json_t **reply, struct err *e)
{
	auto_fd int sock = agent_ask_send(p, sandbox, incarnation, q, e);

	*reply = NULL;
	if (sock < 0)
		return -1;
	return agent_ask_recv(sock, q->op, deadline_ms, reply, e);
}

json_t *
agent_body(const struct agent_target *t)
{
	return json_pack("{s:s, s:I}", "session", t->session, "generation",
	    (json_int_t)t->generation);
}

/* Sends a request whose reply only says that it was carried out. */
static int
ask_done(const struct provider *p, const struct agent_target *t,
    struct agent_question *q, int64_t deadline_ms, struct err *e)
{
	auto_json json_t *reply = NULL;

	return agent_ask(p, t->sandbox, t->incarnation, q, deadline_ms, &reply,
	    e);
}

int
agent_ping(const struct provider *p, const char *sandbox,
    const char *incarnation, char version[AGENT_VERSION_MAX],
    int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "ping", .body = json_object() };
	auto_json json_t *reply = NULL;

	if (agent_ask(p, sandbox, incarnation, &q, deadline_ms, &reply, e) < 0)
		return -1;
	(void)!str_copy(version, AGENT_VERSION_MAX, json_str(reply, "version"));
	return 0;
}

static int
check_proof(const json_t *reply, struct err *e)
{
	if (str_equal(json_str(reply, "output"), "ready"))
		return 0;
	return err_set(e, ERR_BAD_GATEWAY, CODE_NOT_PROVED,
	    "a command in the session did not print what it should");
}

int
agent_prove(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "prove", .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	return check_proof(reply, e);
}

int
agent_adopt(const struct provider *p, const struct agent_target *t,
    const struct agent_launch *l, const struct agent_adoption *a,
    int64_t deadline_ms, struct err *e)
{
	const struct identity *who = l->commits_as;
	struct agent_question q = { .op = "adopt", .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	json_object_update_new(q.body,
	    json_pack("{s:s, s:o, s:s*, s:s*, s:s*, s:b, s:b}", "claim",
		a->claim, "env",
		l->env != NULL ? json_deep_copy(l->env) : json_object(), "name",
		l->name, "gitName", who != NULL ? who->name : NULL, "gitEmail",
		who != NULL ? who->email : NULL, "network", l->network, "prove",
		a->prove));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	if (l->version != NULL)
		(void)!str_copy(l->version, AGENT_VERSION_MAX,
		    json_str(reply, "version"));
	return a->prove ? check_proof(reply, e) : 0;
}

struct wrapper_entry {
	char instance[ID_MAX];
	int64_t generation;
};

struct interrupted {
	int64_t count;
};

/* clang-format off */
static const struct jfield WRAPPER[] = {
	JFIELD("instance", struct wrapper_entry, instance, J_STR, J_REQUIRED, 0, ID_MAX - 1, "instance id"),
	JFIELD("generation", struct wrapper_entry, generation, J_INT, J_REQUIRED, 0, INT64_MAX, "its number"),
};

static const struct jfield STATUS[] = {
	JFIELD("running", struct agent_status, running, J_INT, J_REQUIRED, 0, INT64_MAX, "commands"),
	JFIELD("streams", struct agent_status, streams, J_INT, J_REQUIRED, 0, INT64_MAX, "open streams"),
	JFIELD("relays", struct agent_status, relays, J_INT, J_REQUIRED, 0, INT64_MAX, "connections"),
	JFIELD("idleMs", struct agent_status, idle_ms, J_INT, J_REQUIRED, 0, MS_MAX, "since work ended"),
	JFIELD("relayIdleMs", struct agent_status, relay_idle_ms, J_INT, 0, -1, MS_MAX, "since a byte on a port"),
	JFIELD("quietMs", struct agent_status, quiet_ms, J_INT, 0, 0, MS_MAX, "since the last byte"),
	JFIELD("cpuMs", struct agent_status, cpu_ms, J_INT, 0, 0, MS_MAX, "used by what runs"),
	JFIELD("limitMs", struct agent_status, limit_ms, J_INT, 0, 0, MS_MAX, "until its own limit ends it"),
	JFIELD("served", struct agent_status, served, J_INT, 0, 0, INT64_MAX, "calls it took"),
	JFIELD("keys", struct agent_status, keys, J_INT, 0, 0, CORRELATION_GIVEN_MAX, "that were asked for"),
};

static const struct jfield INTERRUPTED[] = {
	JFIELD("interrupted", struct interrupted, count, J_INT, 0, 0, INT32_MAX, "commands"),
};
/* clang-format on */

int
agent_wrappers_read(const json_t *reply, const char *op,
    struct agent_wrappers *out, struct err *e)
{
	const json_t *list = json_object_get(reply, "wrappers");

	*out = (struct agent_wrappers){ 0 };
	if (!json_is_array(list) ||
	    json_array_size(list) > AGENT_WRAPPERS_MAX) {
		err_field(e, "wrappers", "must be a list of at most %d",
		    AGENT_WRAPPERS_MAX);
		return agent_bad_reply(e, op);
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct wrapper_entry w = { 0 };

		if (jfield_decode(json_array_get(list, i), WRAPPER,
			ARRAY_LEN(WRAPPER), J_LENIENT, &w, e) < 0)
			return agent_bad_reply(e, op);
		memcpy(out->wrapper[i].instance, w.instance,
		    sizeof(w.instance));
		out->wrapper[i].generation = w.generation;
	}
	out->count = json_array_size(list);
	return 0;
}

/* Sends look, seal or kill: the reply lists the wrappers that are left. */
static int
ask_wrappers(const struct provider *p, const struct agent_target *t,
    const char *op, int wait_ms, int64_t deadline_ms,
    struct agent_wrappers *out, struct err *e)
{
	struct agent_question q = { .op = op, .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	if (wait_ms > WAIT_MAX_MS)
		wait_ms = WAIT_MAX_MS;
	json_object_set_new(q.body, "waitMs", json_integer(wait_ms));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	return agent_wrappers_read(reply, op, out, e);
}

int
agent_look(const struct provider *p, const struct agent_target *t, int wait_ms,
    int64_t deadline_ms, struct agent_wrappers *out, struct err *e)
{
	return ask_wrappers(p, t, "look", wait_ms, deadline_ms, out, e);
}

int
agent_seal(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_wrappers *out, struct err *e)
{
	return ask_wrappers(p, t, "seal", 0, deadline_ms, out, e);
}

void
agent_thaw_before_end(const struct provider *p, const struct agent_target *t)
{
	struct session_seen s = { .generation = t->generation };
	struct err ignored; /* the look that follows finds what still runs */

	str_copy(s.sandbox, sizeof(s.sandbox), t->sandbox);
	str_copy(s.session, sizeof(s.session), t->session);
	(void)!p->ops->cell_freeze(p, &s, false, &ignored);
}

int
agent_kill(const struct provider *p, const struct agent_target *t, int wait_ms,
    int64_t deadline_ms, struct agent_wrappers *out, struct err *e)
{
	agent_thaw_before_end(p, t);
	return ask_wrappers(p, t, "kill", wait_ms, deadline_ms, out, e);
}

int
agent_network(const struct provider *p, const struct agent_target *t,
    const struct agent_network *n, struct err *e)
{
	struct agent_question q = { .op = "network", .body = agent_body(t) };

	json_object_set_new(q.body, "base", json_boolean(n->base));
	json_object_set_new(q.body, "rules", json_string(n->rules));
	json_object_set_new(q.body, "log", json_string(n->log));
	json_object_set_new(q.body, "open", json_boolean(n->open));
	json_object_set_new(q.body, "ports", json_deep_copy(n->ports));
	return agent_ask_send(p, t->sandbox, t->incarnation, &q, e);
}

int
agent_freeze(const struct provider *p, const struct agent_target *t,
    int64_t order, int fd, const char *frozen, const char *thawed,
    int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "freeze",
		.body = agent_body(t),
		.fds = &fd,
		.fd_count = 1 };

	json_object_set_new(q.body, "order", json_integer(order));
	json_object_set_new(q.body, "frozen", json_string(frozen));
	json_object_set_new(q.body, "thawed", json_string(thawed));
	return ask_done(p, t, &q, deadline_ms, e);
}

int
agent_thaw(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "thaw", .body = agent_body(t) };

	json_object_set_new(q.body, "order", json_integer(order));
	return ask_done(p, t, &q, deadline_ms, e);
}

int
agent_status_read(const json_t *reply, struct agent_status *out, struct err *e)
{
	*out = (struct agent_status){ .cpu_ms = -1, .relay_idle_ms = -1 };
	if (jfield_decode(reply, STATUS, ARRAY_LEN(STATUS), J_LENIENT, out, e) <
	    0)
		return agent_bad_reply(e, "status");
	out->busy = json_is_true(json_object_get(reply, "busy"));
	return 0;
}

int
agent_status(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct agent_status *out, struct err *e)
{
	struct agent_question q = { .op = "status", .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	return agent_status_read(reply, out, e);
}

int
agent_keys(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, json_t **out, struct err *e)
{
	struct agent_question q = { .op = "keys", .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	*out = correlation_list(json_object_get(reply, "keys"));
	return 0;
}

static int
ask_interrupt(const struct provider *p, const struct agent_target *t,
    struct agent_question *q, int64_t deadline_ms, int64_t *count,
    struct err *e)
{
	auto_json json_t *reply = NULL;
	struct interrupted i = { 0 };

	if (agent_ask(p, t->sandbox, t->incarnation, q, deadline_ms, &reply,
		e) < 0)
		return -1;
	if (jfield_decode(reply, INTERRUPTED, ARRAY_LEN(INTERRUPTED), J_LENIENT,
		&i, e) < 0)
		return agent_bad_reply(e, q->op);
	*count = i.count;
	return 0;
}

int
agent_interrupt(const struct provider *p, const struct agent_target *t,
    int64_t older_ms, int64_t deadline_ms, int64_t *count, struct err *e)
{
	struct agent_question q = { .op = "interrupt", .body = agent_body(t) };

	json_object_set_new(q.body, "olderMs", json_integer(older_ms));
	return ask_interrupt(p, t, &q, deadline_ms, count, e);
}

int
agent_interrupt_shell(const struct provider *p, const struct agent_target *t,
    const char *shell, int64_t deadline_ms, int64_t *count, struct err *e)
{
	struct agent_question q = { .op = "interrupt_shell",
		.body = agent_body(t) };

	json_object_set_new(q.body, "shell", json_string(shell));
	return ask_interrupt(p, t, &q, deadline_ms, count, e);
}

int
agent_trust(const struct provider *p, const struct agent_target *t,
    const char *certificate, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "trust", .body = agent_body(t) };

	json_object_set_new(q.body, "certificate", json_string(certificate));
	return ask_done(p, t, &q, deadline_ms, e);
}

int
agent_env(const struct provider *p, const struct agent_target *t,
    const json_t *env, bool whole, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "env", .body = agent_body(t) };

	json_object_set_new(q.body, "env", json_deep_copy(env));
	json_object_set_new(q.body, "whole", json_boolean(whole));
	return ask_done(p, t, &q, deadline_ms, e);
}

struct setup_said {
	int64_t offset, bytes, exit_code, took_ms;
};

/* clang-format off */
static const struct jfield SETUP_SAID[] = {
	JFIELD("offset", struct setup_said, offset, J_INT, J_REQUIRED, 0, INT64_MAX, "of its output so far"),
	JFIELD("bytes", struct setup_said, bytes, J_INT, J_REQUIRED, 0, INT64_MAX, "of all its output"),
	JFIELD("exitCode", struct setup_said, exit_code, J_INT, 0, 0, 255, "how it ended"),
	JFIELD("ms", struct setup_said, took_ms, J_INT, 0, 0, MS_MAX, "how long it took"),
};
/* clang-format on */

int
agent_memory_file(const char *data, size_t len, struct err *e)
{
	auto_fd int fd = memfd_create("sandlease-write", MFD_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return err_errno(e, "memfd");
	while (done < len) {
		ssize_t n = write(fd, data + done, len - done);

		if (n < 0)
			return err_errno(e, "memfd");
		done += (size_t)n;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "memfd");
	return take_fd(&fd);
}

int
agent_write(const struct provider *p, const struct agent_target *t,
    const char *path, int64_t mode, const char *data, size_t len,
    int64_t deadline_ms, struct err *e)
{
	auto_fd int fd = agent_memory_file(data, len, e);
	struct agent_question q = { .op = "write", .fds = &fd, .fd_count = 1 };

	if (fd < 0)
		return -1;
	q.body = json_pack("{s:s, s:I, s:s, s:I}", "session", t->session,
	    "generation", (json_int_t)t->generation, "path", path, "mode",
	    (json_int_t)mode);
	return ask_done(p, t, &q, deadline_ms, e);
}

int
agent_snapshot_export(const struct provider *p, const struct agent_target *t,
    int fd, struct err *e)
{
	struct agent_question q = { .op = "keep",
		.body = agent_body(t),
		.fds = &fd,
		.fd_count = 1 };

	return agent_ask_send(p, t->sandbox, t->incarnation, &q, e);
}

int
agent_snapshot_export_end(int asked, int64_t deadline_ms, struct err *e)
{
	auto_json json_t *reply = NULL;

	return agent_ask_recv(asked, "keep", deadline_ms, &reply, e);
}

int
agent_setup(const struct provider *p, const struct agent_target *t,
    struct agent_setup *s, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "setup", .body = agent_body(t) };
	auto_json json_t *reply = NULL;
	struct setup_said said = { 0 };
	auto_fd int fd = -1;

	if (s->command != NULL) {
		fd = agent_memory_file(s->command, strlen(s->command), e);
		if (fd < 0) {
			json_decref(q.body);
			return -1;
		}
		q.fds = &fd;
		q.fd_count = 1;
	}
	json_object_set_new(q.body, "timeoutMs", json_integer(s->timeout_ms));
	json_object_set_new(q.body, "offset", json_integer(s->offset));
	json_object_set_new(q.body, "waitMs", json_integer(s->wait_ms));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	if (jfield_decode(reply, SETUP_SAID, ARRAY_LEN(SETUP_SAID), J_LENIENT,
		&said, e) < 0)
		return agent_bad_reply(e, "setup");
	s->begun = json_is_true(json_object_get(reply, "begun"));
	s->done = json_is_true(json_object_get(reply, "done"));
	s->offset = said.offset;
	s->bytes = said.bytes;
	s->exit_code = said.exit_code;
	s->took_ms = said.took_ms;
	free(s->output);
	s->output = xstrdup(json_str(reply, "output"));
	return 0;
}
