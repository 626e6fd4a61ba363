/* logs.c: prints the events of a session, and the output of its processes. */
#include <stdio.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/process.h"
#include "cli/http/sessions.h"
#include "cli/http/stream.h"
#include "cli/output.h"
#include "cli/show.h"
#include "cli/story.h"
#include "common/mem.h"

enum {
	WAIT_S = 25,
	GIVE_UP_MS = 2 * 60 * 1000, /* how long to try to connect again */
	LOOK_MS = 1000 /* how often to check that our output has a reader */
};

/* ---- events */

/* Prints an event as it is stored: "time  kind  what (reason)  by actor", and
 * the text of its detail. */
static void
print_stored(const json_t *event)
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

/* Prints a page of events after *after; returns how many. */
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
		else if (args_has(&k->args, "all"))
			print_stored(event);
		else
			story_print(event, stdout);
	}
	fflush(stdout);
	return (int)i;
}

/* Prints the session's processes; does not wake a session that sleeps. */
static void
print_processes(struct cli *k, const char *id)
{
	auto_json json_t *answer = NULL;
	const json_t *p;
	struct err e;
	size_t i;

	client_try(k->client);
	if (session_call(k->client, "GET", id, "/api/process/list", NULL,
		&answer, &e) < 0)
		return;
	json_array_foreach(json_object_get(answer, "processes"), i, p)
	{
		story_process(p, stdout);
	}
}

static int
print_all_events(struct cli *k, const char *id, struct err *e)
{
	bool follow = args_has(&k->args, "follow");
	int64_t after = 0;
	int n, wait_s = 0;

	do {
		n = print_events(k, id, wait_s, &after, e);
		if (n == 0 && follow && wait_s > 0)
			sleep(1); /* too many clients may wait: do not spin */
		wait_s = n == 0 && follow ? WAIT_S : 0;
	} while ((n > 0 || (n == 0 && follow)) && !output_is_unread());
	if (n < 0)
		return -1;
	if (!follow && !k->json && !args_has(&k->args, "all"))
		print_processes(k, id);
	return output_is_unread() ? OUTPUT_UNREAD : EXIT_SUCCESS;
}

/* ---- processes */

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
		fputs("sandlease: only the end of the output was kept\n",
		    stderr);
	fputs(json_str(answer, "stdout"), stdout);
	fflush(stdout);
	fputs(json_str(answer, "stderr"), stderr);
	return EXIT_SUCCESS;
}

struct follow {
	const struct cli *cli;
	bool over, unread;
};

static void
write_output(struct follow *f, const json_t *event, int fd)
{
	if (!output_base64(fd, json_str(event, "data")))
		f->unread = true;
}

static bool
take_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct follow *f = ctx;
	auto_json json_t *event = json_loadb(data, len, 0, NULL);
	const char *type = json_str(event, "type");

	(void)name;
	if (f->cli->json && event != NULL)
		show_json(event);
	else if (str_equal(type, "stdout"))
		write_output(f, event, STDOUT_FILENO);
	else if (str_equal(type, "stderr"))
		write_output(f, event, STDERR_FILENO);
	else if (str_equal(type, "dropped"))
		fputs("sandlease: some output is lost\n", stderr);
	f->over = f->over || str_equal(type, "exit");
	f->unread = f->unread || ferror(stdout);
	return !f->unread;
}

static int
follow_to_end(struct follow *f, struct stream *s, struct err *e)
{
	while (!f->over) {
		int rc = stream_move(s, e);

		if (f->unread || output_is_unread())
			return OUTPUT_UNREAD;
		if (rc < 0)
			return -1;
		client_wait(s->client, NULL, 0,
		    client_sooner(stream_wait_ms(s), LOOK_MS));
	}
	return EXIT_SUCCESS;
}

/* Prints the output of a process until it ends.  After the connection broke,
 * continues where it was. */
static int
follow_logs(struct cli *k, const char *id, const char *process, struct err *e)
{
	auto_free char *one = xasprintf("/api/process/%s", process);
	auto_free char *path = xasprintf("/v1/sessions/%s%s/stream%s", id, one,
	    k->json ? "" : "?encoding=base64");
	struct follow f = { .cli = k };
	struct stream s = { .client = k->client,
		.path = path,
		.patience_ms = GIVE_UP_MS,
		.sse = { .event = take_event, .ctx = &f } };
	int rc;

	/* fails at once; the stream would retry an unavailable service */
	if (session_call(k->client, "GET", id, one, NULL, NULL, e) < 0)
		return -1;
	rc = follow_to_end(&f, &s, e);
	stream_free(&s);
	return rc;
}

/* ---- the command */

static int
print_agent_log(struct cli *k, const char *id, struct err *e)
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
		return print_agent_log(k, id, e);
	if (args_has(a, "processes"))
		return processes_list(k, id, true, e);
	if (a->operands < 2)
		return print_all_events(k, id, e);
	client_escape(&process, a->operand[1], false);
	return args_has(a, "follow") ? follow_logs(k, id, process.data, e)
				     : print_logs(k, id, process.data, e);
}
