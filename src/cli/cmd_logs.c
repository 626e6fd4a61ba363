/* cmd_logs.c: what happened to a session, and what its processes wrote. */
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/sessions.h"
#include "cli/show.h"
#include "cli/sse.h"
#include "common/mem.h"

enum { WAIT_S = 25 };

/* ---- events */

/* time  kind  what (reason) [detail's text] */
static void
print_event(const json_t *event)
{
	const char *reason = json_str(event, "reason");
	const char *text = json_str(json_object_get(event, "detail"), "text");
	auto_buf struct buf line = { 0 };

	buf_fmt(&line, "%s  %-9s %s", json_str(event, "at"),
	    json_str(event, "kind"), json_str(event, "what"));
	if (reason[0] != '\0')
		buf_fmt(&line, " (%s)", reason);
	buf_fmt(&line, "  by %s\n", json_str(event, "actor"));
	show_text(line.data, stdout);
	if (text[0] != '\0')
		show_text(text, stdout);
}

/* A page of them from *after on; how many. */
static int
print_events(struct cli *k, const char *id, int wait_s, int64_t *after,
    struct err *e)
{
	auto_free char *tail =
	    xasprintf("/events?after=%lld&wait=%d", (long long)*after, wait_s);
	auto_json json_t *answer = NULL;
	json_t *event;
	size_t i;

	if (session_call(k->client, "GET", id, tail, NULL, &answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "events"), i, event)
	{
		*after = json_integer_value(json_object_get(event, "id"));
		if (k->json)
			show_json(event);
		else
			print_event(event);
	}
	fflush(stdout);
	return (int)i;
}

static int
events(struct cli *k, const char *id, struct err *e)
{
	bool follow = args_has(&k->args, "follow");
	int64_t after = 0;
	int n, wait_s = 0;

	do {
		n = print_events(k, id, wait_s, &after, e);
		if (n == 0 && follow && wait_s > 0)
			sleep(1); /* it may have said: not all may wait */
		wait_s = n == 0 && follow ? WAIT_S : 0;
	} while (n > 0 || (n == 0 && follow));
	return n < 0 ? -1 : EXIT_SUCCESS;
}

/* ---- processes */

static int
list_processes(struct cli *k, const char *id, struct err *e)
{
	static const char *const TITLES[] = { "PROCESS", "STATUS", "CODE",
		"AGE", "COMMAND" };
	struct table t = { TITLES, ARRAY_LEN(TITLES), 4, NULL, 0 };
	auto_json json_t *answer = NULL;
	json_t *p;
	size_t i;

	if (session_call(k->client, "GET", id, "/api/process/list", NULL,
		&answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "processes"), i, p)
	{
		const json_t *code = json_object_get(p, "exitCode");
		char age[SHOW_AGE_MAX], number[16] = "";

		if (k->json) {
			show_json(p);
			continue;
		}
		if (code != NULL)
			snprintf(number, sizeof(number), "%d",
			    (int)json_integer_value(code));
		show_age(json_str(p, "startTime"), age);
		table_add(&t,
		    (const char *const[]){ json_str(p, "id"),
			json_str(p, "status"), number, age,
			json_str(p, "command") });
	}
	if (!k->json)
		table_end(&t);
	return EXIT_SUCCESS;
}

static int
print_logs(struct cli *k, const char *id, const char *process, struct err *e)
{
	auto_free char *tail = xasprintf("/api/process/%s/logs", process);
	auto_json json_t *answer = NULL;

	if (session_call(k->client, "GET", id, tail, NULL, &answer, e) < 0)
		return -1;
	if (k->json) {
		show_json(answer);
		return EXIT_SUCCESS;
	}
	if (json_is_true(json_object_get(answer, "truncated")))
		fputs("sandlease: only the end of it has been kept\n", stderr);
	fputs(json_str(answer, "stdout"), stdout);
	fflush(stdout);
	fputs(json_str(answer, "stderr"), stderr);
	return EXIT_SUCCESS;
}

struct follow {
	const struct cli *cli;
	struct sse sse;
	bool over;
};

static bool
take_event(void *ctx, const char *data, size_t len)
{
	struct follow *f = ctx;
	auto_json json_t *event = json_loadb(data, len, 0, NULL);
	const char *type = json_str(event, "type");

	if (f->cli->json && event != NULL)
		show_json(event);
	fflush(stdout);
	f->over = str_equal(type, "exit");
	if (f->cli->json)
		return true;
	if (str_equal(type, "stdout") || str_equal(type, "stderr"))
		return output_base64(str_equal(type, "stdout") ? STDOUT_FILENO
							       : STDERR_FILENO,
		    json_str(event, "data"));
	if (str_equal(type, "dropped"))
		fputs("sandlease: some of it is lost\n", stderr);
	return true;
}

static bool
take_bytes(void *ctx, const char *data, size_t len)
{
	struct follow *f = ctx;

	return sse_feed(&f->sse, data, len);
}

/* Goes on where it was when the connection breaks. */
static int
follow_logs(struct cli *k, const char *id, const char *process, struct err *e)
{
	auto_free char *path =
	    xasprintf("/v1/sessions/%s/api/process/%s/stream%s", id, process,
		k->json ? "" : "?encoding=base64");
	struct follow f = { .cli = k };
	int rc = 0;

	f.sse = (struct sse){ .emit = take_event, .ctx = &f };
	while (rc == 0 && !f.over) {
		auto_free char *last = xasprintf("Last-Event-ID: %s", f.sse.id);

		sse_restart(&f.sse);
		rc = client_run(k->client,
		    &(struct request){ .path = path,
			.header = f.sse.id[0] != '\0' ? last : NULL,
			.sink = take_bytes,
			.ctx = &f,
			.endless = true },
		    NULL, e);
		if (rc < 0 && str_equal(e->code, "broken") &&
		    f.sse.id[0] != '\0')
			rc = 0;
	}
	sse_free(&f.sse);
	return rc;
}

/* ---- the command */

static int
agent_log(struct cli *k, const char *id, struct err *e)
{
	auto_free char *path = xasprintf("/v1/sessions/%s/agent-log", id);
	auto_buf struct buf text = { 0 };

	if (client_run(k->client, &(struct request){ .path = path }, &text, e) <
	    0)
		return -1;
	if (text.len > 0)
		show_text(text.data, stdout);
	return EXIT_SUCCESS;
}

int
cmd_logs(struct cli *k, struct err *e)
{
	const struct args *a = &k->args;
	auto_buf struct buf process = { 0 };
	char id[ID_MAX];

	if (session_find(k->client, a->operand[0], id, e) < 0)
		return -1;
	if (args_has(a, "agent"))
		return agent_log(k, id, e);
	if (args_has(a, "processes"))
		return list_processes(k, id, e);
	if (a->operands < 2)
		return events(k, id, e);
	client_escape(&process, a->operand[1], false);
	return args_has(a, "follow") ? follow_logs(k, id, process.data, e)
				     : print_logs(k, id, process.data, e);
}
