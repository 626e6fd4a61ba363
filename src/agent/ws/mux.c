/* mux.c: serves /ws and /api/ws, which carry many requests at once. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/api/routes.h"
#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/ws/answer.h"
#include "agent/ws/call.h"
#include "agent/ws/request.h"
#include "agent/ws/ws.h"
#include "common/mem.h"

enum {
	/* the largest body and the message around it */
	MESSAGE_MAX = API_WRITE_BODY_MAX + 1024 * 1024,
	/* bytes of all incomplete messages */
	INCOMPLETE_MAX = 256 * 1024 * 1024
};

struct running {
	struct mux *mux;
	struct ws_call *call;
	struct running *next;
};

/* Lives in the thread that reads, until the last request has ended. */
struct mux {
	struct ws_conn *conn;
	const char *session;
	struct lock lock;
	pthread_cond_t none;
	struct running *running;
	struct buf message; /* the pieces so far */
	size_t counted;     /* bytes of them in the sum `incomplete` */
};

static atomic_int requests;
static atomic_llong incomplete;

/* ---- running requests */

static struct running *
find(const struct mux *m, const char *id)
{
	struct running *r = m->running;

	while (r != NULL && !str_equal(ws_call_id(r->call), id))
		r = r->next;
	return r;
}

/* Adds a request; false when its id is in use. */
static bool
add_request(struct mux *m, struct running *r)
{
	bool is_new;

	lock_take(&m->lock);
	is_new = find(m, ws_call_id(r->call)) == NULL;
	if (is_new) {
		r->next = m->running;
		m->running = r;
	}
	lock_drop(&m->lock);
	return is_new;
}

static void
remove_request(struct running *r)
{
	struct mux *m = r->mux;
	struct running **at = &m->running;

	lock_take(&m->lock);
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (m->running == NULL)
		pthread_cond_signal(&m->none);
	/* after this, the thread that reads may free m */
	lock_drop(&m->lock);
}

static void
free_request(struct running *r)
{
	ws_call_free(r->call);
	free(r);
	atomic_fetch_sub(&requests, 1);
}

static void *
run_request(void *arg)
{
	struct running *r = arg;

	serve_begin();
	ws_call_run(r->call);
	serve_end();
	remove_request(r);
	free_request(r);
	return NULL;
}

static void
cancel_request(struct mux *m, const char *id)
{
	struct running *r;

	lock_take(&m->lock);
	r = find(m, id);
	if (r != NULL)
		ws_call_cancel(r->call);
	lock_drop(&m->lock);
}

static void
cancel_and_wait(struct mux *m)
{
	lock_take(&m->lock);
	for (struct running *r = m->running; r != NULL; r = r->next)
		ws_call_cancel(r->call);
	while (m->running != NULL)
		lock_wait(&m->none, &m->lock);
	lock_drop(&m->lock);
}

/* ---- messages */

static void
start_request(struct mux *m, struct ws_request *q)
{
	auto_free char *id = xstrdup(q->id);
	struct running *r = xcalloc(1, sizeof(*r));
	bool room = atomic_fetch_add(&requests, 1) < WS_REQUESTS_MAX;

	r->mux = m;
	r->call = ws_call_new(m->conn, q, &m->message, m->session);
	if (!add_request(m, r)) {
		ws_answer_error(m->conn, id, 400, CODE_INVALID_REQUEST,
		    "a request with this id runs");
		free_request(r);
		return;
	}
	if (room && serve_thread(run_request, r) == 0)
		return;
	remove_request(r);
	free_request(r);
	ws_answer_error(m->conn, id, 429, CODE_INTERNAL_ERROR,
	    "too many requests at once");
}

static void
handle_message(struct mux *m)
{
	const char *text = m->message.data != NULL ? m->message.data : "";
	struct ws_request q;
	struct err e = { 0 };

	if (ws_request_parse(text, m->message.len, &q, &e) < 0)
		ws_answer_error(m->conn, q.id, 400, e.code, e.msg);
	else if (q.cancel)
		cancel_request(m, q.id);
	else
		start_request(m, &q);
	ws_request_free(&q);
}

/*
 * Frees the message.  If a request has taken over the text, m->message is empty
 * and the text counts in body.c.
 */
static void
drop_message(struct mux *m)
{
	atomic_fetch_sub(&incomplete, (long long)m->counted);
	m->counted = 0;
	buf_free(&m->message);
}

/* False when the piece is refused and the connection closed. */
static bool
take_piece(struct mux *m, const struct ws_piece *p)
{
	if (m->message.len + p->len > MESSAGE_MAX) {
		ws_close(m->conn, WS_TOO_BIG, "the message is too large");
		return false;
	}
	if (atomic_fetch_add(&incomplete, (long long)p->len) > INCOMPLETE_MAX) {
		atomic_fetch_sub(&incomplete, (long long)p->len);
		ws_close(m->conn, WS_TRY_LATER,
		    "too many large messages at once");
		return false;
	}
	m->counted += p->len;
	buf_add(&m->message, p->data, p->len);
	if (!p->last)
		return true;
	handle_message(m);
	drop_message(m);
	return true;
}

void
ws_mux_run(struct ws_conn *conn, const char *session)
{
	auto_free struct ws_piece *p = xmalloc(sizeof(*p));
	struct mux m = { .conn = conn,
		.session = session,
		.lock = LOCK_INIT(LOCK_WS_MUX),
		.none = PTHREAD_COND_INITIALIZER };

	while (ws_receive(conn, p) && take_piece(&m, p))
		;
	drop_message(&m);
	cancel_and_wait(&m);
}
