/* work.c: measures commands, code and streams in sessions that exist. */
#include "bench/work.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"

static const char TRUE_COMMAND[] = "{\"command\":\"true\"}";

/* ---- exec: a command in a session, and one on this machine */

/* Runs `sh -c true` here, timed from its start to its end. */
static bool
run_local(struct stats *s)
{
	static char sh[] = "sh", c[] = "-c", command[] = "true";
	static char *const ARGV[] = { sh, c, command, NULL };
	static char *const ENVP[] = { NULL };
	int64_t began = clock_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, ARGV, ENVP) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		return false;
	stats_add(s, clock_us() - began);
	return true;
}

static bool
is_done(struct visit *v)
{
	auto_json json_t *body = bench_answer(v);

	return v->status == 200 &&
	    json_is_true(json_object_get(body, "success"));
}

static bool
on_exec(struct visit *v, void *context)
{
	struct bench *b = context;

	if (!is_done(v) || !run_local(&b->local)) {
		visit_fail(v, "exec");
		return false;
	}
	if (v->step > 0) /* the first command makes connection and shell */
		stats_add(&b->command, v->answered_us - v->sent_us);
	return (size_t)v->step++ < b->turns;
}

int
work_exec(struct bench *b, char **argv, struct err *e)
{
	if (bench_sessions(b, argv, 1, e) < 0)
		return -1;
	bench_ask(b, b->visits, "POST", "/api/execute", TRUE_COMMAND);
	if (visit_all(b->visits, 1, 1, on_exec, b, e) < 0)
		return -1;
	stats_print(&b->command, "exec");
	stats_print(&b->local, "local");
	return bench_failures(b, e);
}

/* ---- code: a code cell in a context that exists */

static bool
on_code(struct visit *v, void *context)
{
	struct bench *b = context;

	if (v->status != 200 ||
	    strstr(v->answer.data, "execution_complete") == NULL) {
		visit_fail(v, "code");
		return false;
	}
	if (v->step > 0) /* the first code cell makes connection and kernel */
		stats_add(&b->command, v->answered_us - v->sent_us);
	return (size_t)v->step++ < b->turns;
}

int
work_code(struct bench *b, char **argv, struct err *e)
{
	if (bench_sessions(b, argv, 1, e) < 0)
		return -1;
	bench_ask(b, b->visits, "POST", "/api/execute/code",
	    "{\"code\":\"1+1\"}");
	if (visit_all(b->visits, 1, 1, on_code, b, e) < 0)
		return -1;
	stats_print(&b->command, "code");
	return bench_failures(b, e);
}

/* ---- context: a new context, until its kernel is ready */

static bool
on_context(struct visit *v, void *context)
{
	auto_json json_t *body = bench_answer(v);
	auto_free char *path = NULL;
	struct bench *b = context;

	if (v->status != 200) {
		visit_fail(v, "context");
		return false;
	}
	if (v->step++ % 2 == 1) { /* the context was deleted */
		bench_ask(b, v, "POST", "/api/contexts", "{}");
		return (size_t)v->step / 2 < b->turns;
	}
	stats_add(&b->create, v->answered_us - v->sent_us);
	path = xasprintf("/api/contexts/%s", json_str(body, "contextId"));
	bench_ask(b, v, "DELETE", path, NULL);
	return true;
}

int
work_context(struct bench *b, char **argv, struct err *e)
{
	if (bench_sessions(b, argv, 1, e) < 0)
		return -1;
	bench_ask(b, b->visits, "POST", "/api/contexts", "{}");
	if (visit_all(b->visits, 1, 1, on_context, b, e) < 0)
		return -1;
	stats_print(&b->create, "context");
	return bench_failures(b, e);
}

/* ---- together: commands in many sessions at once */

static bool
on_turn(struct visit *v, void *context)
{
	struct bench *b = context;

	if (!is_done(v)) {
		visit_fail(v, "exec");
		return false;
	}
	stats_add(&b->command, v->answered_us - v->sent_us);
	return (size_t)++v->step < b->turns;
}

int
work_together(struct bench *b, char **argv, struct err *e)
{
	int64_t began, us;

	if (bench_sessions(b, argv, COUNT_MAX, e) < 0)
		return -1;
	for (size_t i = 0; i < b->count; i++)
		bench_ask(b, &b->visits[i], "POST", "/api/execute",
		    TRUE_COMMAND);
	began = clock_us();
	if (visit_all(b->visits, b->count, b->count, on_turn, b, e) < 0)
		return -1;
	us = clock_us() - began;
	stats_print(&b->command, "exec");
	printf("rate %.0f\n", (double)b->command.count * 1e6 / (double)us);
	return bench_failures(b, e);
}

/* ---- stream: from the write to the client */

struct stream {
	struct stats lag;
	struct buf line;
};

static int64_t
wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Reads an event whose text is the wall clock at its write, "S.UUUUUU". */
static void
take_line(struct stream *s, int64_t now_us)
{
	static const char PREFIX[] = "data: ";
	auto_json json_t *event = NULL;
	struct err ignored;
	double written;

	if (s->line.len < sizeof(PREFIX) - 1 ||
	    strncmp(s->line.data, PREFIX, sizeof(PREFIX) - 1) != 0 ||
	    json_parse(s->line.data + sizeof(PREFIX) - 1,
		s->line.len - (sizeof(PREFIX) - 1), &event, &ignored) < 0 ||
	    strcmp(json_str(event, "type"), "stdout") != 0)
		return;
	written = strtod(json_str(event, "data"), NULL);
	stats_add(&s->lag, now_us - (int64_t)(written * 1e6));
}

static size_t
take_events(char *data, size_t size, size_t count, void *context)
{
	struct stream *s = context;
	int64_t now_us = wall_us();

	for (size_t i = 0; i < size * count; i++) {
		if (data[i] != '\n') {
			buf_add(&s->line, data + i, 1);
			continue;
		}
		take_line(s, now_us);
		s->line.len = 0;
	}
	return size * count;
}

int
work_stream(struct bench *b, char **argv, struct err *e)
{
	auto_free char *body = NULL;
	struct stream s = { 0 };
	CURLcode result;
	CURL *easy;
	size_t lines;

	if (bench_sessions(b, argv, 1, e) < 0)
		return -1;
	/* the builtin `read` makes the pause: its input never comes */
	body = xasprintf("{\"command\":\"exec 3<> <(:); for ((i = 0; i < %zu;"
			 " i++)); do echo $EPOCHREALTIME;"
			 " read -t 0.005 -u 3; done\"}",
	    b->turns);
	bench_ask(b, b->visits, "POST", "/api/execute/stream", body);
	easy = b->visits[0].easy;
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_events);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, &s);
	result = curl_easy_perform(easy);
	lines = s.lag.count;
	stats_print(&s.lag, "stream");
	stats_free(&s.lag);
	buf_free(&s.line);
	if (result != CURLE_OK || lines != b->turns)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
		    "%zu of %zu lines came: %s", lines, b->turns,
		    curl_easy_strerror(result));
	return 0;
}
