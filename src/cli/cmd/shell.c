/* shell.c: shows a terminal of a session on the user's terminal. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/escape.h"
#include "cli/http/feed.h"
#include "cli/http/sessions.h"
#include "cli/http/stream.h"
#include "cli/interrupts.h"
#include "cli/output.h"
#include "cli/replay.h"
#include "cli/tty.h"
#include "common/base64.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	GIVE_UP_MS = 10 * 60 * 1000, /* how long to try to connect again */
	SEND_REST_MS = 2000,
	END_OF_INPUT = 0x04
};

struct shell {
	struct cli *cli;
	char id[ID_MAX];
	char *base; /* path of the session's terminal */
	struct tty tty;
	struct escape escape;
	struct feed feed;
	char *feed_path;
	/* its output */
	char *stream_path;
	struct stream stream;
	struct replay replay;
	int64_t old; /* offset at which output from before we connected ends */
	/* the size of our terminal, which is sent to the session */
	struct transfer *resize;
	json_t *size;
	bool resized;
	bool over, detached;
	int exit_code;
	struct err err;
};

/* Prints a message; in raw mode a line ends with "\r\n". */
static void
note(const struct shell *s, const char *text)
{
	fprintf(stderr, s->tty.raw ? "\r\n[%s]\r\n" : "[%s]\n", text);
}

/* ---- output */

static void
end_with(struct shell *s, int code)
{
	s->over = true;
	s->exit_code = code;
}

/* Tells the user of a lost connection, unless the stream has said why it
 * ended. */
static void
tell_connection(void *ctx, bool lost)
{
	const struct shell *s = ctx;

	if (s->err.kind != ERR_NONE)
		return;
	note(s,
	    lost ? "the connection is lost; trying again, ~. gives up"
		 : "connected again");
}

/* Shows output; old output without questions to the terminal (replay.h). */
static void
show_output(struct shell *s, const json_t *event)
{
	int64_t end = json_integer_value(json_object_get(event, "offset"));
	const char *data = json_str(event, "data");
	auto_buf struct buf bytes = { 0 }, shown = { 0 };
	size_t is_new;

	if (!base64_decode(&bytes, data, strlen(data)))
		return;
	is_new = end <= s->old ? 0 : (size_t)(end - s->old);
	if (is_new > bytes.len)
		is_new = bytes.len;
	replay_add(&s->replay, bytes.data, bytes.len - is_new, &shown);
	if (is_new > 0) {
		replay_end(&s->replay, &shown);
		buf_add(&shown, bytes.data + bytes.len - is_new, is_new);
	}
	if (!output_bytes(STDOUT_FILENO, shown.data, shown.len))
		end_with(s, OUTPUT_UNREAD);
}

static bool
take_event(void *ctx, const char *name, const char *data, size_t len)
{
	struct shell *s = ctx;
	auto_json json_t *event = json_loadb(data, len, 0, NULL);
	const char *type = json_str(event, "type");

	(void)name;
	if (str_equal(type, "output")) {
		show_output(s, event);
	} else if (str_equal(type, "lost")) {
		note(s, "some output is lost: it came too fast");
	} else if (str_equal(type, "exit")) {
		end_with(s,
		    (int)json_integer_value(json_object_get(event, "code")) &
			255);
	} else if (str_equal(type, "error")) {
		err_set(&s->err, ERR_UNAVAILABLE, CODE_ENDED, "%.200s",
		    json_str(event, "error"));
	}
	return true;
}

static int
move_stream(struct shell *s, struct err *e)
{
	int rc = stream_move(&s->stream, e);

	if (s->err.kind != ERR_NONE) {
		*e = s->err;
		return -1;
	}
	if (rc < 0 && transfer_refused(e, CODE_TERMINAL_NOT_FOUND))
		return err_set(e, ERR_NOT_FOUND, CODE_ENDED,
		    "the terminal is gone: the session has slept, or was restarted");
	return rc;
}

/* ---- size of the terminal */

static void
send_size(struct shell *s)
{
	auto_free char *path = xasprintf("%s/resize", s->base);
	int cols, rows;

	s->resized = false;
	if (!tty_size(&cols, &rows))
		return;
	json_decref(s->size);
	s->size = json_pack("{s:i, s:i}", "cols", cols, "rows", rows);
	s->resize = transfer_begin(s->cli->client,
	    &(struct request){ .method = "POST",
		.path = path,
		.json = s->size });
}

/* One request at a time: two could overtake each other, and the last size must
 * win. */
static void
move_size(struct shell *s)
{
	if (s->resize != NULL && transfer_done(s->resize)) {
		transfer_free(s->resize);
		s->resize = NULL;
	}
	if (s->resize == NULL && s->resized)
		send_size(s);
}

/* ---- input */

static void
suspend(struct shell *s)
{
	tty_restore(&s->tty);
	raise(SIGSTOP);
	tty_raw(&s->tty);
	s->resized = true;
}

static void
obey_escape(struct shell *s, enum escape_action choice)
{
	switch (choice) {
	case ESCAPE_DETACH:
		s->detached = true;
		end_with(s, EXIT_SUCCESS);
		break;
	case ESCAPE_SUSPEND:
		suspend(s);
		break;
	case ESCAPE_HELP:
		note(s,
		    "~. detach, ~^Z suspend, ~~ a tilde, at the beginning of a line");
		break;
	case ESCAPE_NONE:
		break;
	}
}

static void
feed_typed(struct shell *s, const char *data, size_t len)
{
	while (len > 0 && !s->over) {
		auto_buf struct buf out = { 0 };
		size_t used;

		obey_escape(s, escape_take(&s->escape, data, len, &out, &used));
		feed_add(&s->feed, out.data, out.len);
		data += used;
		len -= used;
	}
}

static void
read_typed(struct shell *s)
{
	static const char END = END_OF_INPUT;
	char data[16 * 1024];
	size_t room = feed_room(&s->feed);
	ssize_t n =
	    read(STDIN_FILENO, data, room < sizeof(data) ? room : sizeof(data));

	if (n > 0 && s->tty.raw && !args_has(&s->cli->args, "no-escape")) {
		feed_typed(s, data, (size_t)n);
	} else if (n > 0) {
		feed_add(&s->feed, data, (size_t)n);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		feed_add(&s->feed, &END, 1);
		feed_end(&s->feed);
	}
}

/* ---- the loop */

static int
wait_and_handle(struct shell *s, int signals, struct err *e)
{
	bool wants = feed_room(&s->feed) > 0;
	struct pollfd fds[] = { { signals, POLLIN, 0 },
		{ STDIN_FILENO, POLLIN, 0 } };
	int number;

	client_wait(s->cli->client, fds, wants ? 2 : 1,
	    client_sooner(feed_wait_ms(&s->feed), stream_wait_ms(&s->stream)));
	number = fds[0].revents != 0 ? interrupts_next(signals) : 0;
	if (number == SIGWINCH)
		s->resized = true;
	else if (number != 0)
		end_with(s, 128 + number);
	if (wants && fds[1].revents != 0)
		read_typed(s);
	if (feed_move(&s->feed, e) < 0)
		note(s, "the last input may be lost");
	move_size(s);
	return s->over ? 0 : move_stream(s, e);
}

/* Sends input that was typed before the end, for at most SEND_REST_MS. */
static void
send_rest(struct shell *s)
{
	int64_t end = clock_ms() + SEND_REST_MS;
	struct err e;

	while (feed_busy(&s->feed) && clock_left_ms(end) > 0 &&
	    feed_move(&s->feed, &e) == 0 && feed_busy(&s->feed))
		client_wait(s->cli->client, NULL, 0, clock_left_ms(end));
}

static int
run_terminal(struct shell *s, struct err *e)
{
	auto_fd int signals = interrupts_open(e);
	int rc = 0;

	if (signals < 0)
		return -1;
	tty_raw(&s->tty);
	while (rc == 0 && !s->over)
		rc = wait_and_handle(s, signals, e);
	send_rest(s);
	if (s->detached)
		note(s, "detached; the terminal runs on");
	tty_restore(&s->tty);
	return rc < 0 ? -1 : s->exit_code;
}

/* ---- the command */

static int
open_terminal(struct shell *s, struct err *e)
{
	const struct args *a = &s->cli->args;
	const char *name = args_value(a, "session");
	const char *program = args_value(a, "shell");
	auto_json json_t *body = json_object(), *answer = NULL;
	auto_buf struct buf base = { 0 };
	const json_t *terminal;
	int cols, rows;

	if (name != NULL)
		json_object_set_new(body, "sessionId", json_lossy(name));
	if (program != NULL)
		json_object_set_new(body, "shell", json_lossy(program));
	if (tty_size(&cols, &rows)) {
		json_object_set_new(body, "cols", json_integer(cols));
		json_object_set_new(body, "rows", json_integer(rows));
	}
	if (session_find(s->cli->client, a->operand[0], s->id, e) < 0 ||
	    session_call(s->cli->client, "POST", s->id, "/api/terminal", body,
		&answer, e) < 0)
		return -1;
	terminal = json_object_get(answer, "terminal");
	s->old = json_integer_value(json_object_get(terminal, "offset"));
	buf_fmt(&base, "/v1/sessions/%s/api/terminal/", s->id);
	client_escape(&base, json_str(terminal, "id"), false);
	s->base = xstrdup(base.data);
	s->stream_path = xasprintf("%s/stream", s->base);
	s->stream = (struct stream){ .client = s->cli->client,
		.path = s->stream_path,
		.patience_ms = GIVE_UP_MS,
		.told = tell_connection,
		.sse = { .event = take_event, .ctx = s } };
	s->feed_path = xasprintf("%s/input", s->base);
	s->feed =
	    (struct feed){ .client = s->cli->client, .path = s->feed_path };
	return 0;
}

int
cmd_shell(struct cli *k, struct err *e)
{
	struct shell s = { .cli = k, .escape = { .fresh = true } };
	int rc = -1;

	if (k->json)
		err_set(e, ERR_INVALID, CODE_USAGE,
		    "a terminal cannot be printed as JSON; sandlease exec --json can");
	else if (open_terminal(&s, e) == 0)
		rc = run_terminal(&s, e);
	stream_free(&s.stream);
	transfer_free(s.resize);
	feed_free(&s.feed);
	json_decref(s.size);
	free(s.base);
	free(s.stream_path);
	free(s.feed_path);
	return rc;
}
