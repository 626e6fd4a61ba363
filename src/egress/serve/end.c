/* end.c: how a connection ends, and how requests are counted before. */
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/str.h"
#include "egress/serve/serve.h"

enum {
	LEAVE_MS = 2000,  /* for the client to end, after it has all bytes */
	CUT_MS = 100,     /* how often is looked whether it has */
	COUNTING_MAX = 8, /* requests of a tenant; the queue is for all */
	STATUS_BAD_GATEWAY = 502
};

void
protocol_end(struct conn *c)
{
	if (c->protocol != NULL && c->protocol->release != NULL)
		c->protocol->release(c);
	c->protocol = NULL;
}

/* At the end of the round: what closed it may still look at its request. */
static void
release_conn(void *owner)
{
	struct conn *c = owner;

	protocol_end(c);
	buf_free(&c->begun);
	buf_free(&c->heard);
	free(c);
}

void
conn_close(struct conn *c, bool reset)
{
	struct egress *g = c->of->of;

	loop_clear(&g->loop, &c->timer);
	upstream_close(c, reset);
	side_close(&g->loop, &c->client, reset);
	TAILQ_REMOVE(&c->of->conns, c, link);
	c->of->conn_count--;
	g->conn_count--;
	c->of = NULL;
	loop_bury(&g->loop, c, release_conn);
}

void
conn_give_up_after(struct conn *c, int64_t ms)
{
	c->reader_ms = 0;
	loop_set(&c->of->of->loop, &c->timer, clock_ms() + ms);
}

void
conn_wait_for_reader(struct conn *c, int64_t ms)
{
	conn_give_up_after(c, ms);
	c->reader_ms = ms;
	c->reader_until_ms = clock_ms() + SERVE_HALF_MS;
}

/* A reset would take bytes away that the client has not read yet. */
void
conn_give_up(struct conn *c)
{
	int64_t now = clock_ms();
	bool unread = c->reader_ms > 0 &&
	    side_unread(&c->client) + side_unread(&c->server) > 0;

	if (unread && now < c->reader_until_ms)
		loop_set(&c->of->of->loop, &c->timer, now + c->reader_ms);
	else
		conn_close(c, c->reader_ms == 0 || c->cut || unread);
}

/* The client may still send: a reset would make it lose our last bytes. */
void
conn_leave(struct conn *c)
{
	struct egress *g = c->of->of;

	c->leaving = true;
	c->waiting = false;
	upstream_close(c, true);
	conn_wait_for_reader(c, LEAVE_MS);
	if (side_finish(&c->client) < 0)
		conn_close(c, true);
	else if (c->client.ended && side_may_go(&c->client))
		conn_close(c, false);
	else if (side_watch(&g->loop, &c->client, true) < 0)
		conn_close(c, true);
}

void
conn_cut(struct conn *c)
{
	struct egress *g = c->of->of;

	c->leaving = c->cut = true;
	c->waiting = false;
	upstream_close(c, true);
	conn_wait_for_reader(c, CUT_MS);
	if (side_flush(&c->client) < 0 ||
	    side_watch(&g->loop, &c->client, true) < 0)
		conn_close(c, true);
}

/* Says it in the protocol's own form, if that has one. */
static void
refuse(struct conn *c, int status, const char *text)
{
	if (c->protocol != NULL && c->protocol->refuse != NULL &&
	    c->protocol->refuse(c, status, text))
		conn_leave(c);
	else
		conn_close(c, true);
}

void
conn_deny(struct conn *c, enum denial why, const char *detail)
{
	char text[SERVE_TEXT_MAX];

	deny(c->of, why, c->host, c->port, detail);
	denial_text(why, c->host, text);
	refuse(c, denial_status(why), text);
}

void
conn_fail(struct conn *c, const char *why)
{
	char text[SERVE_TEXT_MAX];

	failure_text(c->host, why, text);
	refuse(c, STATUS_BAD_GATEWAY, text);
}

/* ---- counting */

static void
deny_uncounted(struct conn *c, const char *outcome)
{
	c->waiting = false;
	conn_deny(c,
	    str_equal(outcome, "exceeded") ? DENY_EXCEEDED : DENY_NOT_COUNTED,
	    NULL);
}

static void
ask(struct conn *c)
{
	struct session *s = c->of;

	c->unasked = false;
	if (tell(s->of,
		json_pack("{s:s, s:s, s:I, s:I}", "op", "reserve", "session",
		    s->id, "generation", (json_int_t)s->generation, "conn",
		    (json_int_t)c->id)))
		s->counting++;
	else
		deny_uncounted(c, "unknown");
}

/* Requests of the tenant's sessions that rows is counting. */
static size_t
count_of_tenant(const struct session *s)
{
	const struct session *other = TAILQ_FIRST(&s->of->sessions);
	size_t count = 0;

	for (; other != NULL; other = TAILQ_NEXT(other, link))
		if (str_equal(other->tenant, s->tenant))
			count += other->counting;
	return count;
}

bool
conn_count(struct conn *c)
{
	struct session *s = c->of;

	if (c->counted) {
		c->counted = false;
		return true;
	}
	if (c->waiting)
		return false;
	if (!s->limited) {
		s->use.requests++;
		return true;
	}
	c->waiting = c->unasked = true;
	if (count_of_tenant(s) < COUNTING_MAX)
		ask(c);
	return false;
}

static struct conn *
first_unasked(const struct session *s)
{
	struct conn *c = TAILQ_FIRST(&s->conns);

	while (c != NULL && !c->unasked)
		c = TAILQ_NEXT(c, link);
	return c;
}

/* The tenant's other sessions come first. */
void
conn_count_next(struct session *s)
{
	struct session *next = s;
	struct conn *c = NULL;

	if (s->counting > 0)
		s->counting--;
	do {
		next = TAILQ_NEXT(next, link);
		if (next == NULL)
			next = TAILQ_FIRST(&s->of->sessions);
		if (str_equal(next->tenant, s->tenant))
			c = first_unasked(next);
	} while (c == NULL && next != s);
	if (c != NULL)
		ask(c);
}

bool
conn_counted(struct conn *c, const char *outcome)
{
	if (!str_equal(outcome, "ok")) {
		deny_uncounted(c, outcome);
		return false;
	}
	c->waiting = false;
	c->counted = true;
	return true;
}
