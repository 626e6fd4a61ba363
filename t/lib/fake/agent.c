/* agent.c: an agent in memory that speaks the control protocol. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "world.h"

/* wait: a limit against hanging, not a measured time */
enum { PATIENCE_MS = 60 * 1000, THREADS = 1024 };

struct talk {
	int sock;
	char box[SANDBOX_ID_MAX];
};

static pthread_t THREAD[THREADS];
static size_t THREAD_COUNT;

/* One request: the world's lock is held, `c` is NULL for an unknown cell. */
struct turn {
	const char *box;
	const json_t *q;
	struct fake_cell *c;
	struct channel_fds *fds;
};

typedef json_t *answer_fn(struct turn *t);

static json_t *
no_because(enum err_code code, const char *message)
{
	return json_pack("{s:b, s:s, s:s}", "ok", 0, "code", code_word(code),
	    "message", message);
}

static json_t *
no(enum err_code code)
{
	return no_because(code, "the fake refuses");
}

/* The error that the script asks for, with the codes of a real agent. */
static json_t *
fail(enum fake_how how)
{
	if (how == FAKE_FULL)
		return no_because(CODE_NO_SPACE, strerror(ENOSPC));
	return no(
	    how == FAKE_DENIED ? CODE_PERMISSION_DENIED : CODE_LAUNCH_FAILED);
}

static json_t *
ping(struct turn *t)
{
	return json_pack("{s:b, s:s, s:s, s:i, s:i}", "ok", 1, "version",
	    PACKAGE_VERSION, "sandbox", t->box, "pid", 1, "cells", 0);
}

static json_t *
look(struct turn *t)
{
	json_t *list = json_array();

	for (int i = 0;
	     t->c != NULL && t->c->generation > 0 && i < (t->c->twin ? 2 : 1);
	     i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:I}", "instance", t->c->instance,
			"generation", (json_int_t)t->c->generation));
	return json_pack("{s:b, s:o}", "ok", 1, "wrappers", list);
}

static int64_t
generation(const struct turn *t)
{
	return json_integer_value(json_object_get(t->q, "generation"));
}

static json_t *
launch(struct turn *t)
{
	struct fake_cell *c =
	    fake_find_cell(t->box, json_str(t->q, "session"), true);

	if (generation(t) <= c->sealed)
		return no(CODE_STALE_GENERATION);
	if (c->generation > 0)
		return no(CODE_ALREADY_RUNNING);
	if (FAKE.old &&
	    t->fds->count !=
		1 + json_array_size(json_object_get(t->q, "ports")))
		return no_because(CODE_LAUNCH_FAILED,
		    "5 descriptors came, 4 were announced");
	c->generation = generation(t);
	c->frozen = false;
	str_copy(c->instance, sizeof(c->instance), json_str(t->q, "instance"));
	c->fds = *t->fds; /* the cell listens on them from now on */
	t->fds->count = 0;
	return json_pack("{s:b, s:s, s:I, s:s, s:s}", "ok", 1, "instance",
	    c->instance, "generation", (json_int_t)c->generation, "cell",
	    "namespace", "version", PACKAGE_VERSION);
}

static json_t *
seal(struct turn *t)
{
	t->c = fake_find_cell(t->box, json_str(t->q, "session"), true);
	if (generation(t) > t->c->sealed)
		t->c->sealed = generation(t);
	return look(t);
}

static json_t *
term(struct turn *t)
{
	if (t->c != NULL && !FAKE.stubborn)
		fake_end_cell(t->c);
	return json_pack("{s:b}", "ok", 1);
}

static json_t *
kill_cell(struct turn *t)
{
	if (t->c != NULL && !FAKE.immortal)
		fake_end_cell(t->c);
	return look(t);
}

static json_t *
list(struct turn *t)
{
	json_t *cells = json_array();

	for (size_t i = 0; i < FAKE_CELLS; i++) {
		const struct fake_cell *c = &FAKE.cell[i];

		if (str_equal(c->box, t->box) && c->generation > 0)
			json_array_append_new(cells,
			    json_pack("{s:s, s:s, s:I}", "session", c->session,
				"instance", c->instance, "generation",
				(json_int_t)c->generation));
	}
	return json_pack("{s:b, s:o}", "ok", 1, "cells", cells);
}

static json_t *
usage(struct turn *t)
{
	json_t *cells = json_array();

	for (size_t i = 0; i < FAKE_CELLS; i++) {
		struct fake_cell *c = &FAKE.cell[i];

		if (!str_equal(c->box, t->box) || c->generation == 0)
			continue;
		json_array_append_new(cells,
		    json_pack("{s:s, s:I, s:I, s:I, s:I, s:b}", "session",
			c->session, "generation", (json_int_t)c->generation,
			"bytes", (json_int_t)c->usage, "files",
			(json_int_t)c->measure.files, "limitMb",
			(json_int_t)c->measure.limit_mb, "whole",
			!c->measure.hidden));
		if (c->frozen)
			continue;
		c->usage += c->growth;
		c->measure.files += c->measure.more_files;
	}
	return json_pack("{s:b, s:o}", "ok", 1, "cells", cells);
}

static json_t *
prove(struct turn *t)
{
	(void)t;
	return json_pack("{s:b, s:s}", "ok", 1, "output", "ready");
}

static json_t *
status(struct turn *t)
{
	const struct agent_status *s = &FAKE.status;

	(void)t;
	return json_pack(
	    "{s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "ok", 1,
	    "busy", s->busy, "running", (json_int_t)s->running, "streams",
	    (json_int_t)s->streams, "relays", (json_int_t)s->relays, "idleMs",
	    (json_int_t)s->idle_ms, "relayIdleMs", (json_int_t)s->relay_idle_ms,
	    "quietMs", (json_int_t)s->quiet_ms, "cpuMs", (json_int_t)s->cpu_ms,
	    "limitMs", (json_int_t)s->limit_ms, "served",
	    (json_int_t)s->served);
}

static json_t *
done(struct turn *t)
{
	(void)t;
	return json_pack("{s:b}", "ok", 1);
}

/* Which generations of a cell a request is for, as in src/agent/init/ops.c. */
enum fence { ANY, UP_TO, EXACT };

static const struct {
	const char *op;
	answer_fn *answer;
	enum fence fence;
} OPS[] = {
	{ "ping", ping, ANY },
	{ "launch", launch, ANY },
	{ "look", look, ANY },
	{ "seal", seal, ANY },
	{ "term", term, UP_TO },
	{ "kill", kill_cell, UP_TO },
	{ "list", list, ANY },
	{ "usage", usage, ANY },
	{ "prove", prove, EXACT },
	{ "write", done, EXACT },
	{ "env", done, EXACT },
	{ "status", status, EXACT },
	{ "interrupt", done, EXACT },
	{ "interrupt_shell", done, EXACT },
	{ "expose", done, EXACT },
	{ "unexpose", done, EXACT },
	{ "ws_bounce", done, EXACT },
};

static json_t *
answer(struct turn *t)
{
	const char *op = json_str(t->q, "op");

	t->c = fake_find_cell(t->box, json_str(t->q, "session"), false);
	for (size_t i = 0; i < ARRAY_LEN(OPS); i++) {
		if (!str_equal(OPS[i].op, op))
			continue;
		if (OPS[i].fence == EXACT &&
		    (t->c == NULL || t->c->generation == 0))
			return no(CODE_NO_SUCH_SESSION);
		if ((OPS[i].fence == EXACT &&
			t->c->generation != generation(t)) ||
		    (OPS[i].fence == UP_TO && t->c != NULL &&
			t->c->generation > generation(t)))
			return no(CODE_STALE_GENERATION);
		return OPS[i].answer(t);
	}
	return no(CODE_UNKNOWN_OP);
}

/* Turns the reply into its contrary; the request itself was carried out. */
static void
lie(json_t *reply)
{
	json_array_clear(json_object_get(reply, "wrappers"));
	if (json_object_get(reply, "output") != NULL)
		json_object_set_new(reply, "output", json_string("nearly"));
}

/* Answers one request, or fails in the way that the script says. */
static void
converse(const struct talk *talk)
{
	auto_json json_t *q = NULL, *reply = NULL, *more = NULL;
	auto_fds struct channel_fds fds = { 0 }, none = { 0 };
	auto_free char *op = NULL;
	struct turn t = { .box = talk->box, .fds = &fds };
	enum fake_how how;
	struct err ignored; /* the asking process has gone away */

	if (channel_recv(talk->sock, clock_ms() + PATIENCE_MS, &q, &fds,
		&ignored) < 0)
		return;
	t.q = q;
	op = xasprintf("agent.%s", json_str(q, "op"));
	fake_note(op, q);
	how = fake_next(op);
	if (how == FAKE_HANG) {
		/* wait until the other end gives up */
		(void)!channel_recv(talk->sock, clock_ms() + PATIENCE_MS, &more,
		    &none, &ignored);
		return;
	}
	if (how == FAKE_WORK || how == FAKE_LOSE || how == FAKE_LIE) {
		pthread_mutex_lock(&FAKE.lock);
		reply = answer(&t);
		pthread_mutex_unlock(&FAKE.lock);
		if (how == FAKE_LIE)
			lie(reply);
	} else {
		reply = fail(how);
	}
	if (how != FAKE_LOSE)
		(void)!channel_send(talk->sock, reply, NULL, 0, &ignored);
}

static void *
serve(void *arg)
{
	struct talk *talk = arg;

	converse(talk);
	close(talk->sock);
	free(talk);
	return NULL;
}

int
fake_connect(const char *id, struct err *e)
{
	struct talk *talk;
	int pair[2];

	if (THREAD_COUNT == THREADS)
		fake_join();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "socketpair");
	talk = xcalloc(1, sizeof(*talk));
	talk->sock = pair[1];
	str_copy(talk->box, sizeof(talk->box), id);
	if (pthread_create(&THREAD[THREAD_COUNT], NULL, serve, talk) != 0)
		abort();
	THREAD_COUNT++;
	return pair[0];
}

void
fake_join(void)
{
	while (THREAD_COUNT > 0)
		pthread_join(THREAD[--THREAD_COUNT], NULL);
}
