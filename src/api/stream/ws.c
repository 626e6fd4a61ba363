/* ws.c: passes a WebSocket of /ws between nginx, a wrapper and a worker. */
#include "api/stream/ws.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "api/stream/ws_gate.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	CHUNK = 16 * 1024,
	ANSWER_MAX = 1024 * 1024,
	UNREAD_MAX = 256 * 1024, /* answers that the client has not read */
	ANSWER_MS = 120 * 1000,  /* nginx gives a worker the same time */
	REQUEST_ID = 1,          /* FastCGI's; a connection has one request */
	GOING_AWAY = 1001
};

/* ---- the worker */

static void
add_request(struct stream *s)
{
	struct buf *out = &s->worker.out;
	auto_buf struct buf params = { 0 };
	auto_free char *body = ws_gate_body(s->gate);
	auto_free char *session =
	    xasprintf("%.*s", STREAM_SESSION_LEN, strrchr(s->target, '/') + 1);

	ws_gate_params(s->gate, session, &params);
	records_begin(out, REQUEST_ID);
	records_add(out, RECORDS_PARAMS, REQUEST_ID, params.data, params.len);
	records_add(out, RECORDS_PARAMS, REQUEST_ID, "", 0);
	if (body[0] != '\0')
		records_add(out, RECORDS_STDIN, REQUEST_ID, body, strlen(body));
	records_add(out, RECORDS_STDIN, REQUEST_ID, "", 0);
}

/* False: no worker can be reached, and the client has its answer. */
static bool
ask_worker(struct streams *all, struct stream *s)
{
	auto_free char *path = xasprintf("%s/%s.sock", all->run_dir,
	    ws_gate_only_reads(s->gate) ? "read" : "api");

	s->worker.fd = stream_connect(path);
	if (s->worker.fd < 0) {
		ws_gate_answer(s->gate, NULL, &s->nginx.out);
		return false;
	}
	s->reply = (struct records){ 0 };
	s->answer_by_ms = clock_ms() + ANSWER_MS;
	add_request(s);
	return true;
}

/*
 * Whether a further request of the client may be taken: no worker is at work
 * for it, and the client has read most of its answers.
 */
static bool
has_room(const struct stream *s)
{
	return s->worker.fd < 0 &&
	    s->nginx.out.len - s->nginx.sent + s->gate->answers.len <=
	    UNREAD_MAX;
}

bool
stream_ws_may_read(const struct stream *s)
{
	return s->gate->rest.len == 0 && has_room(s);
}

/*
 * Passes the client's bytes to the wrapper.  After a request for a worker the
 * rest waits in the gate until the worker has answered.
 */
static void
pass_to_wrapper(struct streams *all, struct stream *s, const char *data,
    size_t len)
{
	while (ws_gate_from_client(s->gate, &data, &len, &s->wrapper.out))
		if (ask_worker(all, s) || !has_room(s)) {
			buf_add(&s->gate->rest, data, len);
			return;
		}
}

void
stream_ws_resume(struct streams *all, struct stream *s)
{
	auto_buf struct buf rest = { 0 };

	if (s->gate->rest.len == 0 || s->deaf || !has_room(s))
		return;
	rest = s->gate->rest;
	s->gate->rest = (struct buf){ 0 };
	pass_to_wrapper(all, s, rest.data, rest.len);
}

/* Sends the worker's answer, which is in s->params, to the client. */
static void
end_request(struct streams *all, struct stream *s)
{
	stream_close_side(all, &s->worker);
	ws_gate_answer(s->gate, &s->params, &s->nginx.out);
	buf_free(&s->params);
	stream_spoke(all, s);
}

static void
lose_worker(struct streams *all, struct stream *s)
{
	buf_free(&s->params); /* a partial answer cannot be parsed: drop it */
	end_request(all, s);
}

void
stream_ws_from_worker(struct streams *all, struct stream *s)
{
	char chunk[CHUNK];
	ssize_t n = read(s->worker.fd, chunk, sizeof(chunk));
	const char *data = chunk;
	size_t len = n > 0 ? (size_t)n : 0;
	struct records_piece p;
	int rc;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	while ((rc = records_next(&s->reply, &data, &len, &p)) > 0) {
		if (p.type == RECORDS_STDOUT)
			buf_add(&s->params, p.data, p.len);
		if (p.type == RECORDS_END && p.last) {
			end_request(all, s);
			return;
		}
	}
	if (n <= 0 || rc < 0 || s->params.len > ANSWER_MAX)
		lose_worker(all, s);
}

void
stream_ws_check_clock(struct streams *all, struct stream *s)
{
	if (s->worker.fd >= 0 && clock_left_ms(s->answer_by_ms) == 0)
		lose_worker(all, s);
}

/* ---- the beginning */

static void
refuse_busy(struct streams *all, struct stream *s)
{
	static const char STATUS[] = "Status: ";
	auto_buf struct buf text = { 0 };

	answer_busy("The service has too many streams open; try again.", &text);
	buf_fmt(&s->nginx.out, "HTTP/1.1 %s", text.data + sizeof(STATUS) - 1);
	stream_over(all, s);
}

/* Half an answer tells nginx that the wrapper got nothing. */
static void
answer_unsent(struct streams *all, struct stream *s)
{
	buf_str(&s->nginx.out,
	    "HTTP/1.1 502 Bad Gateway\r\nX-Sandlease-Unsent: 1\r\n");
	stream_over(all, s);
}

/* The wrapper's socket for WebSockets is beside its socket for calls. */
static int
connect_wrapper(const struct stream *s)
{
	static const char SUFFIX[] = ".sock";
	int stem = (int)(strlen(s->target) - (sizeof(SUFFIX) - 1));
	auto_free char *path = xasprintf("%.*s.ws.sock", stem, s->target);

	return stream_connect(path);
}

/* The head is complete: connects to the wrapper, or refuses. */
static void
open_wrapper(struct streams *all, struct stream *s)
{
	char target[STREAM_TARGET_MAX + sizeof("unix:")], org[ID_MAX];

	ws_gate_header(s->gate, "Tenant", org, sizeof(org));
	if (s->busy ||
	    (org[0] != '\0' && !stream_count_org(all, s, org, strlen(org)))) {
		refuse_busy(all, s);
		return;
	}
	ws_gate_header(s->gate, "Key", s->key, sizeof(s->key));
	ws_gate_header(s->gate, "Request", s->request_id,
	    sizeof(s->request_id));
	ws_gate_header(s->gate, "Target", target, sizeof(target));
	if (stream_target(all->run_dir, target, strlen(target), s->target))
		s->wrapper.fd = connect_wrapper(s);
	if (s->wrapper.fd < 0) {
		answer_unsent(all, s);
		return;
	}
	ws_gate_pass_head(s->gate, &s->wrapper.out);
	s->state = STREAM_OPEN;
}

/* ---- bytes that arrive */

void
stream_ws_from_nginx(struct streams *all, struct stream *s, const char *data,
    size_t len)
{
	if (s->state == STREAM_HEAD) {
		int rc = ws_gate_take_head(s->gate, &data, &len);

		if (rc < 0)
			stream_over(all, s);
		if (rc > 0)
			open_wrapper(all, s);
	}
	if (s->state == STREAM_OPEN && !s->deaf)
		pass_to_wrapper(all, s, data, len);
}

void
stream_ws_from_wrapper(struct streams *all, struct stream *s, const char *data,
    size_t len)
{
	ws_gate_from_wrapper(s->gate, data, len, &s->nginx.out);
	stream_spoke(all, s);
}

void
stream_ws_leave(struct streams *all, struct stream *s)
{
	if (s->gate->replied && !s->gate->opaque &&
	    ws_frames_between_frames(&s->gate->down))
		ws_frames_add_close(&s->nginx.out, GOING_AWAY);
	stream_over(all, s);
}
