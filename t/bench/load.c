/*
 * load.c: measures the times that a client of the service sees.
 *
 *   load start COUNT AT_ONCE FILE   create a session, run a command; ids to FILE
 *   load hang COUNT FILE            create sessions only; each may take 60 s
 *   load ping FILE COUNT            a data-plane request, to FILE's first session
 *   load exec FILE COUNT            a command there, in turns with one here
 *   load stream FILE COUNT          lines written there, until they are here
 *   load keys FILE COUNT            keys typed there, until their echo is here
 *   load together FILE COUNT        commands in all of FILE's sessions at once
 *   load delete FILE                the sessions of FILE, untimed
 *
 * BENCH_CREATE is the body of creates, if it is set.
 * Prints a line per figure: name, count, least, p50, p95, p99, most; in ms.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/keys.h"
#include "bench/work.h"
#include "common/mem.h"

enum { DELETE_AT_ONCE = 4 };

static const char CREATE_USUAL[] = "{\"isolation\":\"session\"}";
static const char COMMAND[] = "{\"command\":\"echo interactive\"}";

/* ---- start: create, then the first command */

static bool
take_session(struct bench *b, struct visit *v)
{
	auto_json json_t *body = bench_answer(v);

	/* a session of a 202 is deleted too, but it cannot be worked in yet */
	if (str_copy(v->session, sizeof(v->session), json_str(body, "id")) &&
	    v->session[0] != '\0')
		fprintf(b->ids, "%s\n", v->session);
	if (v->status != 201 || v->session[0] == '\0') {
		visit_fail(v, "create");
		return false;
	}
	stats_add(&b->create, v->answered_us - v->sent_us);
	return true;
}

static bool
take_command(struct bench *b, struct visit *v)
{
	auto_json json_t *body = bench_answer(v);

	if (v->status != 200 ||
	    strncmp(json_str(body, "stdout"), "interactive", 11) != 0) {
		visit_fail(v, "command");
		return false;
	}
	stats_add(&b->command, v->answered_us - v->sent_us);
	stats_add(&b->both, v->answered_us - v->began_us);
	return false;
}

static bool
on_start(struct visit *v, void *context)
{
	struct bench *b = context;
	auto_free char *path = NULL;

	if (v->step++ > 0)
		return take_command(b, v);
	if (!take_session(b, v))
		return false;
	path = xasprintf("/v1/sessions/%s/api/execute", v->session);
	visit_ask(v, &b->place, "POST", path, COMMAND);
	return true;
}

static bool
on_create(struct visit *v, void *context)
{
	take_session(context, v);
	return false;
}

static int
create_all(struct bench *b, size_t count, size_t at_once, const char *path,
    const char *file, visit_fn *answered, struct err *e)
{
	const char *body = getenv("BENCH_CREATE");
	int rc;

	b->ids = fopen(file, "w");
	if (b->ids == NULL)
		return err_errno(e, "%s", file);
	bench_open(b, count);
	for (size_t i = 0; i < count; i++)
		visit_ask(&b->visits[i], &b->place, "POST", path,
		    body != NULL ? body : CREATE_USUAL);
	rc = visit_all(b->visits, count, at_once, answered, b, e);
	if (fclose(b->ids) != 0)
		return err_errno(e, "%s", file);
	stats_print(&b->create, "create");
	if (answered == on_start) {
		stats_print(&b->command, "command");
		stats_print(&b->both, "both");
	}
	return rc < 0 ? -1 : bench_failures(b, e);
}

static int
cmd_start(struct bench *b, char **argv, struct err *e)
{
	int64_t count, at_once;

	if (!str_to_int(argv[0], 1, COUNT_MAX, &count) ||
	    !str_to_int(argv[1], 1, COUNT_MAX, &at_once))
		return err_set(e, ERR_INVALID, CODE_USAGE, "not a number");
	return create_all(b, (size_t)count, (size_t)at_once, "/v1/sessions",
	    argv[2], on_start, e);
}

static int
cmd_hang(struct bench *b, char **argv, struct err *e)
{
	int64_t count;

	if (!str_to_int(argv[0], 1, COUNT_MAX, &count))
		return err_set(e, ERR_INVALID, CODE_USAGE, "not a number");
	return create_all(b, (size_t)count, (size_t)count,
	    "/v1/sessions?wait=60", argv[1], on_create, e);
}

/* ---- ping */

static bool
on_ping(struct visit *v, void *context)
{
	struct bench *b = context;

	if (v->status != 200) {
		visit_fail(v, "ping");
		return false;
	}
	if (v->step > 0) /* the first request opens the connection */
		stats_add(&b->command, v->answered_us - v->sent_us);
	return (size_t)v->step++ < b->turns;
}

static int
cmd_ping(struct bench *b, char **argv, struct err *e)
{
	if (bench_sessions(b, argv, 1, e) < 0)
		return -1;
	bench_ask(b, b->visits, "GET", "/api/ping", NULL);
	if (visit_all(b->visits, 1, 1, on_ping, b, e) < 0)
		return -1;
	stats_print(&b->command, "ping");
	return bench_failures(b, e);
}

/* ---- delete */

static bool
on_delete(struct visit *v, void *context)
{
	(void)context;
	if (v->status != 200 && v->status != 202)
		visit_fail(v, "delete");
	return false;
}

static int
cmd_delete(struct bench *b, char **argv, struct err *e)
{
	auto_free char(*ids)[VISIT_ID_MAX] = NULL;
	size_t count;

	if (bench_ids(argv[0], &ids, &count, e) < 0)
		return -1;
	bench_open(b, count);
	for (size_t i = 0; i < count; i++) {
		auto_free char *path = xasprintf("/v1/sessions/%s", ids[i]);

		visit_ask(&b->visits[i], &b->place, "DELETE", path, NULL);
	}
	if (visit_all(b->visits, count, DELETE_AT_ONCE, on_delete, b, e) < 0)
		return -1;
	return bench_failures(b, e);
}

/* ---- */

struct command {
	const char *name;
	int arguments;
	int (*run)(struct bench *b, char **argv, struct err *e);
};

static const struct command COMMANDS[] = {
	{ "start", 3, cmd_start },
	{ "hang", 2, cmd_hang },
	{ "ping", 2, cmd_ping },
	{ "exec", 2, work_exec },
	{ "stream", 2, work_stream },
	{ "keys", 2, keys_echo },
	{ "code", 2, work_code },
	{ "context", 2, work_context },
	{ "together", 2, work_together },
	{ "delete", 1, cmd_delete },
};

static int
run(struct bench *b, int argc, char **argv, struct err *e)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_LEN(COMMANDS); i++)
		if (str_equal(COMMANDS[i].name, argv[1]) &&
		    argc == 2 + COMMANDS[i].arguments)
			return COMMANDS[i].run(b, argv + 2, e);
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "usage: load start COUNT AT_ONCE FILE | hang COUNT FILE | ping|exec|stream|keys|together FILE COUNT | delete FILE");
}

int
main(int argc, char **argv)
{
	struct bench b = { 0 };
	struct err e = { 0 };
	int rc = place_open(&b.place, &e);

	if (rc == 0) {
		rc = run(&b, argc, argv, &e);
		bench_close(&b);
		stats_free(&b.create);
		stats_free(&b.command);
		stats_free(&b.both);
		stats_free(&b.local);
		place_close(&b.place);
	}
	if (rc < 0)
		fprintf(stderr, "load: %s\n", e.msg);
	return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
