/* listen.c: waits for notifications of the database (LISTEN/NOTIFY). */
#include "store/listen.h"

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <string.h>

#include "common/clock.h"
#include "common/str.h"
#include "store/store_conn.h"

int
listen_begin(struct store *st, const char *channel, struct err *e)
{
	auto_free char *sql = NULL;
	PGconn *conn = store_conn(st, e);
	char *name;

	if (conn == NULL)
		return -1;
	name = PQescapeIdentifier(conn, channel, strlen(channel));
	sql = xasprintf("LISTEN %s", name != NULL ? name : "");
	PQfreemem(name);
	return store_script(st, sql, e);
}

/* Takes all notifications that have arrived; false: there was none. */
static bool
drain_notifications(PGconn *conn)
{
	bool any = false;

	for (PGnotify *n; (n = PQnotifies(conn)) != NULL; PQfreemem(n))
		any = true;
	return any;
}

int
listen_wait(struct store *st, int other_fd, int64_t deadline_ms,
    enum listen_why *why, struct err *e)
{
	for (;;) {
		PGconn *conn = store_conn_peek(st);
		struct pollfd p[] = { { .events = POLLIN },
			{ .fd = other_fd, .events = POLLRDHUP } };
		int n;

		if (conn == NULL || PQconsumeInput(conn) == 0)
			return store_conn_lost(st, e);
		*why = LISTEN_TOLD;
		if (drain_notifications(conn))
			return 0;
		p[0].fd = PQsocket(conn);
		n = poll(p, ARRAY_LEN(p), (int)clock_left_ms(deadline_ms));
		if (n < 0 && errno != EINTR)
			return err_errno(e, "poll");
		*why = LISTEN_TIME;
		if (n <= 0)
			return 0;
		*why = LISTEN_GONE;
		if (p[1].revents != 0)
			return 0;
	}
}

int
listen_fd(struct store *st)
{
	PGconn *conn = store_conn_peek(st);

	return conn != NULL ? PQsocket(conn) : -1;
}

static void
pass_on(PGconn *conn, void (*told)(void *ctx, const char *text), void *ctx)
{
	for (PGnotify *n; (n = PQnotifies(conn)) != NULL; PQfreemem(n))
		told(ctx, n->extra);
}

int
listen_take(struct store *st, void (*told)(void *ctx, const char *text),
    void *ctx, struct err *e)
{
	PGconn *conn = store_conn_peek(st);

	if (conn == NULL || PQconsumeInput(conn) == 0)
		return store_conn_lost(st, e);
	pass_on(conn, told, ctx);
	return 0;
}

static int
refuse_silence(struct store *st, struct err *e)
{
	store_disconnect(st);
	return err_set(e, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE,
	    "the database does not answer");
}

/* Takes what has arrived of an answer; true: it is complete. */
static bool
take_answer(PGconn *conn, int *rows)
{
	while (PQisBusy(conn) == 0) {
		PGresult *r = PQgetResult(conn);

		if (r == NULL)
			return true;
		if (PQresultStatus(r) == PGRES_TUPLES_OK)
			*rows = PQntuples(r);
		PQclear(r);
	}
	return false;
}

int
listen_prove(struct store *st, enum stmt stmt, int64_t deadline_ms,
    void (*told)(void *ctx, const char *text), void *ctx, struct err *e)
{
	PGconn *conn = store_conn_peek(st);
	struct pollfd p = { .events = POLLIN };
	int rows = 0;

	if (conn == NULL)
		return store_conn_lost(st, e);
	if (store_prepare(st, stmt, e) < 0)
		return -1;
	if (PQsendQueryPrepared(conn, store_stmt_name(stmt), 0, NULL, NULL,
		NULL, 0) == 0)
		return store_conn_lost(st, e);
	p.fd = PQsocket(conn);
	for (;;) {
		bool answered;

		if (PQconsumeInput(conn) == 0)
			return store_conn_lost(st, e);
		answered = take_answer(conn, &rows);
		pass_on(conn, told, ctx); /* reads nothing: see poll() below */
		if (answered)
			break;
		if (clock_left_ms(deadline_ms) == 0)
			return refuse_silence(st, e);
		(void)poll(&p, 1, clock_left_ms(deadline_ms));
	}
	if (rows > 0)
		return 0;
	store_disconnect(st);
	return err_set(e, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE,
	    "the connection to the database does not listen any more");
}

void
listen_end(struct store *st)
{
	struct err ignored = { 0 };

	if (store_conn_peek(st) == NULL)
		return;
	if (store_script(st, "UNLISTEN *", &ignored) < 0)
		store_disconnect(st);
	else
		(void)drain_notifications(store_conn_peek(st));
}
