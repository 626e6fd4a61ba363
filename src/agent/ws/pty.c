/* pty.c: serves /ws/pty, which connects a client to a terminal. */
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/pty/pty.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "agent/ws/ws.h"
#include "common/mem.h"
#include "common/str.h"

enum { CONTROL_MAX = 4096 };

/* One client of a terminal: two threads, one each way. */
struct view {
	struct ws_conn *conn;
	struct pty *pty;
	struct buf control; /* pieces of a text message */
	struct lock lock;
	pthread_cond_t deaf; /* listening has become false */
	bool listening;      /* the thread that receives runs */
};

/* ---- text messages to the client */

static int
send_json(struct ws_conn *conn, json_t *o)
{
	auto_json json_t *msg = o;
	auto_free char *text = json_text(msg);

	return ws_send(conn, WSLINK_TEXT, text, strlen(text));
}

static int
send_error(struct ws_conn *conn, const char *message)
{
	return send_json(conn,
	    json_pack("{s:s, s:o}", "type", "error", "message",
		json_lossy(message)));
}

static void
send_err(struct ws_conn *conn, const struct err *e)
{
	auto_free char *text = xasprintf("%s%s%s", e->field,
	    e->field[0] != '\0' ? ": " : "", e->msg);

	send_error(conn, text);
}

/* ---- from the client */

static void
handle_resize(struct view *v)
{
	auto_json json_t *msg = NULL;
	struct err e = { 0 };
	const json_t *cols, *rows;

	if (json_parse(v->control.data, v->control.len, &msg, &e) < 0 ||
	    !str_equal(json_str(msg, "type"), "resize")) {
		send_error(v->conn,
		    "a text message must be {type:\"resize\",cols,rows}");
		return;
	}
	cols = json_object_get(msg, "cols");
	rows = json_object_get(msg, "rows");
	if (json_integer_value(cols) < 1 || json_integer_value(rows) < 1 ||
	    json_integer_value(cols) > PTY_SIDE_MAX ||
	    json_integer_value(rows) > PTY_SIDE_MAX)
		send_error(v->conn, "cols and rows must be between 1 and 4096");
	else if (pty_resize(v->pty, (int)json_integer_value(cols),
		     (int)json_integer_value(rows), &e) < 0)
		send_err(v->conn, &e);
}

/* False when the message is too large and the connection closed. */
static bool
receive_text(struct view *v, const struct ws_piece *p)
{
	if (v->control.len + p->len > CONTROL_MAX) {
		ws_close(v->conn, WS_TOO_BIG, "the message is too large");
		return false;
	}
	buf_add(&v->control, p->data, p->len);
	if (p->last) {
		handle_resize(v);
		v->control.len = 0;
	}
	return true;
}

static bool
has_gone(const struct ws_conn *conn)
{
	struct pollfd f = { conn->fd, POLLRDHUP, 0 };

	return poll(&f, 1, 0) > 0;
}

/*
 * Waits until the terminal has taken all bytes: later input makes no sense
 * without them.  The client is not read meanwhile, so it must wait, too.
 */
static bool
receive_keys(struct view *v, const struct ws_piece *p)
{
	const struct pty_input in = { .data = p->data,
		.len = p->len,
		.gone_fd = v->conn->fd,
		.patient = true };
	struct err e;
	size_t written;

	activity_touch();
	do { /* ERR_BUSY: other clients write to the terminal */
		e = (struct err){ 0 };
		if (pty_input(v->pty, &in, &written, &e) == 0)
			return true;
	} while (e.kind == ERR_BUSY && !has_gone(v->conn));
	if (e.kind != ERR_BUSY && e.code != CODE_TERMINAL_ENDED)
		send_err(v->conn, &e);
	return true;
}

static void *
receive_all(void *arg)
{
	struct view *v = arg;
	auto_free struct ws_piece *p = xmalloc(sizeof(*p));

	while (ws_receive(v->conn, p) &&
	    (p->kind == WSLINK_TEXT ? receive_text(v, p) : receive_keys(v, p)))
		;
	lock_take(&v->lock);
	v->listening = false;
	pthread_cond_signal(&v->deaf);
	lock_drop(&v->lock);
	return NULL;
}

/* ---- to the client */

/* Sends all output from `at` on; -1 when the client has gone. */
static int
send_output(struct view *v, struct pty_block *b, int64_t *at)
{
	while (pty_read(v->pty, *at, b)) {
		if (b->offset > *at &&
		    send_json(v->conn,
			json_pack("{s:s, s:I}", "type", "lost", "bytes",
			    (json_int_t)(b->offset - *at))) < 0)
			return -1;
		if (ws_send(v->conn, WSLINK_BINARY, b->data, b->len) < 0)
			return -1;
		*at = b->offset + (int64_t)b->len;
	}
	return 0;
}

static void
send_exit(const struct view *v, const struct pty_now *now)
{
	json_t *o =
	    json_pack("{s:s, s:i}", "type", "exit", "code", now->exit_code);

	struct session_end why;
	bool told = session_end_told(&why);

	if (now->signal[0] != '\0')
		json_object_set_new(o, "signal", json_string(now->signal));
	if (told) {
		json_object_set_new(o, "reason", json_string(why.reason));
		json_object_set_new(o, "cause", json_string(why.cause));
	}
	send_json(v->conn, o);
	ws_finish(v->conn, WS_NORMAL,
	    told ? why.reason : "the terminal has ended");
}

/* Waits for more output; false when the client has gone. */
static bool
wait_more(const struct view *v, const struct child_watch *w)
{
	struct pollfd f[] = { { w->fd, POLLIN, 0 },
		{ v->conn->fd, POLLRDHUP, 0 } };
	uint64_t count;

	(void)poll(f, ARRAY_LEN(f), -1);
	(void)!read(w->fd, &count, sizeof(count));
	return f[1].revents == 0;
}

static void
follow_terminal(struct view *v, const struct child_watch *w)
{
	auto_free struct pty_block *b = xmalloc(sizeof(*b));
	int64_t at = pty_begin(v->pty, -1);
	struct pty_now now = pty_now(v->pty);

	if (send_output(v, b, &at) < 0 ||
	    send_json(v->conn, json_pack("{s:s}", "type", "ready")) < 0)
		return;
	while (now.running && wait_more(v, w)) {
		/* first the state: if it has ended, all output is there */
		now = pty_now(v->pty);
		if (send_output(v, b, &at) < 0)
			return;
	}
	if (!now.running)
		send_exit(v, &now);
}

/* ---- both directions */

static void
await_listener(struct view *v)
{
	lock_take(&v->lock);
	while (v->listening)
		lock_wait(&v->deaf, &v->lock);
	lock_drop(&v->lock);
}

static int
serve_view(struct view *v, struct err *e)
{
	struct child_watch w;

	if (pty_watch(v->pty, &w, e) < 0)
		return -1;
	v->listening = true;
	if (serve_thread(receive_all, v) == 0) {
		follow_terminal(v, &w);
		await_listener(v);
	} else {
		v->listening = false;
		err_errno(e, "cannot start a thread");
	}
	pty_unwatch(v->pty, &w);
	return e->kind == ERR_NONE ? 0 : -1;
}

/* The argument as a number of columns or rows; 0 if it is none or not valid. */
static int
parse_side(const json_t *args, const char *name)
{
	int64_t n = 0;

	(void)!str_to_int(json_str(args, name), 1, PTY_SIDE_MAX, &n);
	return (int)n;
}

void
ws_pty_run(struct ws_conn *conn, const json_t *args)
{
	const struct pty_options options = { .id = json_str(args, "sessionId"),
		.shell = json_str(args, "shell"),
		.cwd = json_str(args, "cwd"),
		.cols = parse_side(args, "cols"),
		.rows = parse_side(args, "rows") };
	struct view v = { .conn = conn,
		.lock = LOCK_INIT(LOCK_WS_PTY),
		.deaf = PTHREAD_COND_INITIALIZER };
	struct err e = { 0 };
	bool created;

	activity_touch();
	if (pty_open(&options, &v.pty, &created, &e) == 0) {
		(void)!serve_view(&v, &e);
		pty_release(v.pty);
	}
	if (e.kind != ERR_NONE) {
		send_err(conn, &e);
		ws_close(conn, WS_INTERNAL, "the terminal cannot be opened");
	}
	buf_free(&v.control);
}
