/*
 * exec.c: runs a command in a session as if it ran on this machine.
 *
 * Without input, api/execute/stream runs the command.  With input, the command
 * is a background process: that can get input, and can be followed again after
 * the connection broke.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/http/feed.h"
#include "cli/http/sessions.h"
#include "cli/http/stream.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "cli/pairs.h"
#include "cli/show.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/quote.h"

enum {
	TIMEOUT_MAX_S = 86400,
	GRACE_MS = 5000,
	GIVE_UP_MS = 2 * 60 * 1000 /* how long to try to connect again */
};

struct exec {
	struct cli *cli;
	char id[ID_MAX];
	char *process; /* id of the background process; NULL: no input */
	char *path;    /* of the stream */
	json_t *body;
	struct stream stream;
	struct transfer *kill;
	json_t *kill_body;
	struct feed feed;
	char *feed_path, *close_path;
	int64_t pid;     /* of a stream's command; 0: it has not begun */
	int signals;     /* how many were sent to the command */
	int64_t give_up; /* when to stop waiting, by clock_ms(); 0: never */
	int exit_code;
	bool over;
	bool unread;    /* the reader of our output is gone */
	struct err err; /* told by an event; makes the program fail */
};

/* ---- events of the command */

/* The reader of our output is gone: stop, as SIGPIPE would. */
static void
lose_reader(struct exec *r)
{
	r->unread = true;
	r->give_up = clock_ms();
}

static void
write_output(struct exec *r, const json_t *event, int fd)
{
	if (!output_base64(fd, json_str(event, "data")))
		lose_reader(r);
}

static void
take_end(struct exec *r, const json_t *event)
{
	r->over = true;
	r->exit_code =
	    (int)json_integer_value(json_object_get(event, "exitCode")) & 255;
}

/* After the end of the session do not connect again: that would wake it. */
static void
take_error(struct exec *r, const json_t *event)
{
	if (code_parse(json_str(event, "code")) != CODE_SESSION_TERMINATED) {
		show_problem(json_str(event, "data"));
		return;
	}
	r->over = true;
	err_set(&r->err, ERR_UNAVAILABLE, CODE_ENDED, "%.200s",
	    json_str(event, "data"));
}

static bool
take_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct exec *r = ctx;
	auto_json json_t *event = json_loadb(data, len, 0, NULL);
	const char *type = json_str(event, "type");

	(void)name;
	if (r->cli->json && event != NULL)
		show_json(event);
	if (str_equal(type, "start"))
		r->pid = json_integer_value(json_object_get(event, "pid"));
	else if (str_equal(type, "complete") || str_equal(type, "exit"))
		take_end(r, event);
	else if (str_equal(type, "error"))
		take_error(r, event);
	else if (str_equal(type, "dropped"))
		err_set(&r->err, ERR_UNAVAILABLE, CODE_LOST,
		    "output came faster than it could be sent: %lld bytes of it are lost",
		    (long long)json_integer_value(
			json_object_get(event, "bytes")));
	else if (!r->cli->json && str_equal(type, "stdout"))
		write_output(r, event, STDOUT_FILENO);
	else if (!r->cli->json && str_equal(type, "stderr"))
		write_output(r, event, STDERR_FILENO);
	if (ferror(stdout))
		lose_reader(r);
	return true;
}

/* ---- start of the command */

static int
make_body(struct exec *r, struct err *e)
{
	const struct args *a = &r->cli->args;
	const char *line = args_value(a, "command");
	const char *cwd = args_value(a, "workdir");
	const char *shell = args_value(a, "session");
	auto_buf struct buf command = { 0 };
	int64_t timeout_s = 0;
	json_t *text;
	int first = a->operands > 1 && str_equal(a->operand[1], "--") ? 2 : 1;

	if (args_number(a, "timeout", 1, TIMEOUT_MAX_S, &timeout_s, e) < 0)
		return -1;
	if (first == 1 && a->operands > 1 && a->operand[1][0] == '-')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "options stand before the ID; if the command begins with %.20s, put -- before it",
		    a->operand[1]);
	if ((line != NULL) == (a->operands > first))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "say what to run: sandlease exec ID -- COMMAND..., or -c LINE before the ID");
	if (line != NULL)
		buf_str(&command, line);
	else
		quote_words(&command, a->operands - first, a->operand + first);
	text = json_string(command.data);
	if (text == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a command must be UTF-8");
	r->body = json_pack("{s:o}", "command", text);
	if (!r->cli->json)
		json_object_set_new(r->body, "encoding", json_string("base64"));
	if (cwd != NULL)
		json_object_set_new(r->body, "cwd", json_lossy(cwd));
	if (shell != NULL)
		json_object_set_new(r->body, "sessionId", json_lossy(shell));
	if (timeout_s > 0)
		json_object_set_new(r->body, "timeoutMs",
		    json_integer(timeout_s * 1000));
	return pairs_add(a, "env", r->body, "env", e);
}

/* True if standard input may have input: no terminal, not /dev/null. */
static bool
has_input(const struct args *a)
{
	struct stat st;

	return !args_has(a, "no-stdin") && fstat(STDIN_FILENO, &st) == 0 &&
	    !S_ISCHR(st.st_mode);
}

static int
start_process(struct exec *r, struct err *e)
{
	auto_json json_t *started = NULL;

	json_object_set_new(r->body, "autoCleanup", json_true());
	if (session_call(r->cli->client, "POST", r->id, "/api/process/start",
		r->body, &started, e) < 0)
		return -1;
	r->process = xstrdup(json_str(started, "processId"));
	r->path = xasprintf("/v1/sessions/%s/api/process/%s/stream%s", r->id,
	    r->process, r->cli->json ? "" : "?encoding=base64");
	r->feed_path = xasprintf("/v1/sessions/%s/api/process/%s/input", r->id,
	    r->process);
	r->close_path = xasprintf("%s?close=true", r->feed_path);
	r->feed = (struct feed){ .client = r->cli->client,
		.path = r->feed_path,
		.close_path = r->close_path };
	return 0;
}

static int
start_command(struct exec *r, struct err *e)
{
	if (make_body(r, e) < 0 ||
	    session_find(r->cli->client, r->cli->args.operand[0], r->id, e) < 0)
		return -1;
	if (has_input(&r->cli->args))
		return start_process(r, e);
	r->path = xasprintf("/v1/sessions/%s/api/execute/stream", r->id);
	/* wakes the session; this call has a clearer error than a stream */
	return session_call(r->cli->client, "GET", r->id, "/api/ping", NULL,
	    NULL, e);
}

/* A process can be followed again after the connection broke.  A POST that
 * starts the command must not be repeated. */
static void
make_stream(struct exec *r)
{
	r->stream = (struct stream){ .client = r->cli->client,
		.path = r->path,
		.body = r->process == NULL ? r->body : NULL,
		.patience_ms = GIVE_UP_MS,
		.sse = { .event = take_event, .ctx = r } };
}

/* ---- signals */

/* Sends a signal to the background process by its route, or to the command of
 * a stream by kill(1) in another shell.  That command leads a process group. */
static void
send_signal(struct exec *r, const char *name)
{
	auto_free char *path = NULL;

	transfer_free(r->kill);
	json_decref(r->kill_body);
	if (r->process != NULL) {
		path = xasprintf("/v1/sessions/%s/api/process/%s/signal", r->id,
		    r->process);
		r->kill_body = json_pack("{s:s}", "signal", name);
	} else {
		auto_free char *line =
		    xasprintf("kill -%s -- -%lld", name, (long long)r->pid);

		path = xasprintf("/v1/sessions/%s/api/execute", r->id);
		r->kill_body = json_pack("{s:s, s:s}", "command", line,
		    "sessionId", "__DISABLE_SESSION__");
	}
	r->kill = transfer_begin(r->cli->client,
	    &(struct request){ .method = "POST",
		.path = path,
		.json = r->kill_body });
}

/* Passes the first signal on to the command.  A second one kills it, and ends
 * this program after GRACE_MS. */
static void
take_signal(struct exec *r, int number)
{
	r->exit_code = 128 + number;
	if (r->process == NULL && r->pid == 0) {
		r->give_up = clock_ms(); /* the command has not begun */
		return;
	}
	if (r->signals++ == 0) {
		send_signal(r, interrupts_name(number));
		return;
	}
	send_signal(r, "KILL");
	r->give_up = clock_ms() + GRACE_MS;
}

/* ---- the loop */

static bool
is_given_up(const struct exec *r)
{
	return r->give_up > 0 && clock_left_ms(r->give_up) == 0;
}

static int
patience_ms(const struct exec *r)
{
	int ms = stream_wait_ms(&r->stream);

	if (r->process != NULL)
		ms = client_sooner(ms, feed_wait_ms(&r->feed));
	if (r->give_up > 0)
		ms = client_sooner(ms, clock_left_ms(r->give_up));
	return ms;
}

/* Reads until standard input would block, so that a short input and its end go
 * in one call. */
static void
read_input(struct exec *r)
{
	static char data[256 * 1024];
	struct pollfd f = { STDIN_FILENO, POLLIN, 0 };

	do {
		size_t room = feed_room(&r->feed);
		ssize_t n = read(STDIN_FILENO, data,
		    room < sizeof(data) ? room : sizeof(data));

		if (n > 0)
			feed_add(&r->feed, data, (size_t)n);
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			feed_end(&r->feed);
	} while (
	    !r->feed.open && feed_room(&r->feed) > 0 && poll(&f, 1, 0) == 1);
}

/* After a signal, waits only GRACE_MS for a lost connection. */
static int
move_stream(struct exec *r, struct err *e)
{
	if (r->over)
		return 0;
	if (stream_move(&r->stream, e) < 0)
		return -1;
	if (r->signals > 0 && r->give_up == 0 && stream_lost(&r->stream))
		r->give_up = clock_ms() + GRACE_MS;
	return 0;
}

static int
wait_and_handle(struct exec *r, int signals, struct err *e)
{
	bool wants = r->process != NULL && feed_room(&r->feed) > 0;
	struct pollfd fds[] = { { signals, POLLIN, 0 },
		{ STDIN_FILENO, POLLIN, 0 } };
	int number;

	client_wait(r->cli->client, fds, wants ? 2 : 1, patience_ms(r));
	number = fds[0].revents != 0 ? interrupts_end(signals) : 0;
	if (number != 0)
		take_signal(r, number);
	if (wants && fds[1].revents != 0)
		read_input(r);
	if (r->process != NULL && feed_move(&r->feed, e) < 0)
		return err_wrap(e, "the command may not have got all input");
	return move_stream(r, e);
}

static int
follow_command(struct exec *r, struct err *e)
{
	auto_fd int signals = interrupts_open(e);
	int rc = 0;

	if (signals < 0)
		return -1;
	make_stream(r);
	while (rc == 0 && !r->over && !is_given_up(r))
		rc = wait_and_handle(r, signals, e);
	if (!r->unread)
		return rc < 0 ? -1 : r->exit_code;
	if (!r->over)
		send_signal(r, "TERM");
	while (r->kill != NULL && !transfer_done(r->kill))
		client_wait(r->cli->client, NULL, 0, -1);
	return OUTPUT_UNREAD;
}

int
cmd_exec(struct cli *k, struct err *e)
{
	struct exec r = { .cli = k };
	int rc = -1;

	if (start_command(&r, e) == 0)
		rc = follow_command(&r, e);
	if (rc >= 0 && r.err.kind != ERR_NONE) {
		*e = r.err;
		rc = -1;
	}
	stream_free(&r.stream);
	transfer_free(r.kill);
	feed_free(&r.feed);
	json_decref(r.body);
	json_decref(r.kill_body);
	free(r.process);
	free(r.path);
	free(r.feed_path);
	free(r.close_path);
	return rc;
}
