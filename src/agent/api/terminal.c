/*
 * terminal.c: creates, lists, resizes and ends terminals, and writes their
 * input (api/terminal/...).  Their output is in terminal_stream.c.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/pty/pty.h"
#include "common/mem.h"
#include "web/reply.h"

enum {
	BODY_MAX = 64 * 1024,
	JSON_INPUT_MAX = 4 * 1024 * 1024,
	CHUNK = 64 * 1024,
	PIECE = 1024 * 1024 /* written without other clients' input between */
};

static const char JSON_TYPE[] = "application/json";

static json_t *
terminal_json(struct pty *t)
{
	struct pty_now now = pty_now(t);
	json_t *o = json_pack("{s:o, s:I, s:o, s:i, s:i, s:b, s:I}", "id",
	    json_lossy(pty_id(t)), "pid", (json_int_t)now.pid, "shell",
	    json_lossy(pty_shell(t)), "cols", now.cols, "rows", now.rows,
	    "running", now.running, "offset", (json_int_t)now.total);

	if (!now.running)
		json_object_set_new(o, "exitCode", json_integer(now.exit_code));
	if (now.signal[0] != '\0')
		json_object_set_new(o, "signal", json_string(now.signal));
	return o;
}

int
api_terminal_find(struct call *c, struct pty **out, struct err *e)
{
	const char *id = call_var(c, "id");

	request_context(c, json_pack("{s:o}", "terminalId", json_lossy(id)));
	return pty_find(id, out, e);
}

/* ---- creating */

struct options {
	int64_t cols, rows;
	char shell[PTY_SHELL_MAX];
	char cwd[SHELL_PATH_MAX];
};

static const struct jfield OPTIONS[] = {
	JFIELD("cols", struct options, cols, J_INT, 0, 1, PTY_SIDE_MAX,
	    "columns, 80 unless given"),
	JFIELD("rows", struct options, rows, J_INT, 0, 1, PTY_SIDE_MAX,
	    "rows, 24 unless given"),
	JFIELD("shell", struct options, shell, J_STR, 0, 1, PTY_SHELL_MAX - 1,
	    "program, bash unless given"),
	JFIELD("cwd", struct options, cwd, J_STR, 0, 1, SHELL_PATH_MAX - 1,
	    "directory; if absent the shell session's"),
};

int
api_terminal_create(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_pty struct pty *t = NULL;
	auto_free struct options *o = xcalloc(1, sizeof(*o));
	char id[SHELL_NAME_MAX];
	struct pty_options w = { .id = id, .shell = o->shell, .cwd = o->cwd };
	bool created;
	json_t *shown;

	if (request_body(c, BODY_MAX, &body, e) < 0 ||
	    request_shell(c, body, id, e) < 0 ||
	    jfield_decode(body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, o, e) <
		0)
		return -1;
	request_context(c, json_pack("{s:o}", "terminalId", json_lossy(id)));
	w.cols = (int)o->cols;
	w.rows = (int)o->rows;
	if (pty_open(&w, &t, &created, e) < 0)
		return -1;
	shown = terminal_json(t);
	json_object_set_new(shown, "created", json_boolean(created));
	return reply_container(c, json_pack("{s:o}", "terminal", shown));
}

/* ---- listing */

int
api_terminal_list(struct call *c, struct err *e)
{
	size_t count;
	auto_free struct pty **all = pty_all(&count);
	json_t *list = json_array();

	(void)e;
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(list, terminal_json(all[i]));
		pty_release(all[i]);
	}
	return reply_container(c, json_pack("{s:o}", "terminals", list));
}

int
api_terminal_get(struct call *c, struct err *e)
{
	auto_pty struct pty *t = NULL;

	if (api_terminal_find(c, &t, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:o}", "terminal", terminal_json(t)));
}

/* ---- changing */

int
api_terminal_end(struct call *c, struct err *e)
{
	auto_pty struct pty *t = NULL;

	if (api_terminal_find(c, &t, e) < 0 || pty_end(t, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:o}", "terminal", terminal_json(t)));
}

struct size {
	int64_t cols, rows;
};

static const struct jfield SIZE[] = {
	JFIELD("cols", struct size, cols, J_INT, J_REQUIRED, 1, PTY_SIDE_MAX,
	    "columns"),
	JFIELD("rows", struct size, rows, J_INT, J_REQUIRED, 1, PTY_SIDE_MAX,
	    "rows"),
};

int
api_terminal_resize(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_pty struct pty *t = NULL;
	struct size s = { 0 };

	if (api_terminal_find(c, &t, e) < 0 ||
	    request_body(c, BODY_MAX, &body, e) < 0 ||
	    jfield_decode(body, SIZE, ARRAY_LEN(SIZE), J_LENIENT, &s, e) < 0 ||
	    pty_resize(t, (int)s.cols, (int)s.rows, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:o}", "terminal", terminal_json(t)));
}

/* ---- input */

static int
read_json_input(struct call *c, struct buf *out, struct err *e)
{
	auto_json json_t *body = NULL;

	return request_body(c, JSON_INPUT_MAX, &body, e) < 0
	    ? -1
	    : request_decode_data(body, out, e);
}

static int
read_piece(struct call *c, struct buf *out, struct err *e)
{
	ssize_t n = 1;

	out->len = 0;
	while (n > 0 && out->len < PIECE) {
		n = call_read(c, buf_room(out, CHUNK), CHUNK, e);
		out->len += n > 0 ? (size_t)n : 0;
	}
	return n < 0 ? -1 : 0;
}

/*
 * Reads a whole piece before pty_input() waits for its turn: otherwise other
 * clients of the terminal would wait for a slow one.
 */
static int
write_raw_input(struct call *c, struct pty *t, size_t *written, struct err *e)
{
	auto_buf struct buf piece = { 0 };
	struct pty_input in = { .gone_fd = call_fd(c) };

	do {
		size_t took;
		int rc;

		if (read_piece(c, &piece, e) < 0)
			return -1;
		in.data = piece.data;
		in.len = piece.len;
		rc = pty_input(t, &in, &took, e);
		*written += took;
		if (rc < 0)
			return -1;
	} while (piece.len == PIECE);
	return 0;
}

static int
write_input(struct call *c, struct pty *t, size_t *written, struct err *e)
{
	auto_buf struct buf data = { 0 };

	if (strncasecmp(call_param(c, "CONTENT_TYPE"), JSON_TYPE,
		sizeof(JSON_TYPE) - 1) != 0)
		return write_raw_input(c, t, written, e);
	if (read_json_input(c, &data, e) < 0)
		return -1;
	return pty_input(t,
	    &(struct pty_input){ .data = data.data,
		.len = data.len,
		.gone_fd = call_fd(c) },
	    written, e);
}

int
api_terminal_input(struct call *c, struct err *e)
{
	auto_pty struct pty *t = NULL;
	size_t written = 0;

	if (api_terminal_find(c, &t, e) < 0)
		return -1;
	if (write_input(c, t, &written, e) < 0) {
		request_context(c,
		    json_pack("{s:o, s:I}", "terminalId", json_lossy(pty_id(t)),
			"written", (json_int_t)written));
		return -1;
	}
	return reply_container(c,
	    json_pack("{s:o, s:I}", "terminalId", json_lossy(pty_id(t)),
		"written", (json_int_t)written));
}
