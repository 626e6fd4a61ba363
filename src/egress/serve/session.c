/* session.c: the networks of sessions: how they begin, change and end. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/base/ruleset.h"
#include "egress/serve/serve.h"

enum { TELL_BURST = 60 };

/* ---- packets that were refused */

static void
on_refused(void *ctx, const struct refused_packet *p)
{
	struct listener *l = ctx;
	char to[ADDRESS_TEXT_MAX];
	const char *name = NULL;

	address_print(&p->to, to);
	if (address_is_standin(&p->to))
		name = standin_at(&l->of->standins, &p->to);
	if (name != NULL && str_equal(p->protocol, "tcp"))
		deny(l->of, policy_denial(l->of, name, p->port), name, p->port,
		    NULL);
	else
		deny(l->of, DENY_PACKET, name != NULL ? name : to, p->port,
		    p->protocol);
}

/* A full socket has lost reports, which the kernel says by an error. */
static void
read_reports(struct listener *l)
{
	struct egress *g = l->of->of;
	ssize_t n =
	    recv(l->fd, g->read_buffer, sizeof(g->read_buffer), MSG_DONTWAIT);

	if (n > 0)
		ruleset_read_log((const uint8_t *)g->read_buffer, (size_t)n,
		    on_refused, l);
}

/* ---- listeners */

static void
on_listener(struct loop_watch *w, uint32_t events)
{
	struct listener *l = (struct listener *)(void *)w;

	(void)events;
	switch (l->kind) {
	case LISTENER_DNS:
		names_datagram(l);
		break;
	case LISTENER_DNS_STREAM:
		names_stream(l);
		break;
	case LISTENER_PROXY:
	case LISTENER_PORT:
	case LISTENER_REDIRECT:
		conn_accept(l);
		break;
	case LISTENER_LOG:
		read_reports(l);
		break;
	}
}

/* ---- links to init */

/*
 * A refusal may be for a request that was made before the cell was there: rows
 * reads all sessions when an operator changes a network.  So it says `again`.
 */
static void
answer_waiter(int *waiter, bool ok, const char *why)
{
	auto_json json_t *msg = NULL;
	struct err ignored;

	if (*waiter < 0)
		return;
	msg = json_pack("{s:b, s:s*, s:b}", "ok", ok, "message", why, "again",
	    !ok);
	(void)!channel_send(*waiter, msg, NULL, 0, &ignored);
	mem_close_fd(waiter);
}

static void
link_close(struct request_link *k)
{
	loop_forget(&k->of->of->loop, &k->watch);
	mem_close_fd(&k->fd);
	answer_waiter(&k->waiter, false, "the session's cell has ended");
	TAILQ_REMOVE(&k->of->links, k, link);
	loop_bury(&k->of->of->loop, k, free);
}

/* Tells rows for which ports it has listeners. */
static void
tell_ports(struct session *s)
{
	json_t *ports = json_array();
	const struct listener *l = TAILQ_FIRST(&s->listeners);

	for (; l != NULL; l = TAILQ_NEXT(l, link)) {
		if (l->kind == LISTENER_PORT)
			json_array_append_new(ports, json_integer(l->port));
	}
	(void)tell(s->of,
	    json_pack("{s:s, s:s, s:I, s:o}", "op", "serves", "session", s->id,
		"generation", (json_int_t)s->generation, "ports", ports));
}

/* The cell has ended, or init could not open the sockets. */
static void
lose(struct session *s)
{
	(void)tell(s->of,
	    json_pack("{s:s, s:s, s:I}", "op", "gone", "session", s->id,
		"generation", (json_int_t)s->generation));
	session_end(s);
}

/* Tells of ports that a program in the sandbox took before we did. */
static void
tell_taken(struct session *s, const json_t *taken)
{
	size_t i;
	json_t *v;

	json_array_foreach(taken, i, v)
	{
		if (!listener_is_open(s, v))
			deny(s, DENY_PORT_TAKEN, "127.0.0.1",
			    (uint16_t)json_integer_value(
				json_object_get(v, "port")),
			    NULL);
	}
}

static void
take_sockets(struct request_link *k, const json_t *msg, struct channel_fds *fds)
{
	const json_t *sockets = json_object_get(msg, "sockets");
	size_t i;
	json_t *v;

	json_array_foreach(sockets, i, v)
	{
		int fd = channel_fds_take(fds, i);

		if (fd >= 0)
			listener_open(k->of, v, fd, on_listener);
	}
	if (json_is_true(json_object_get(msg, "more")))
		return;
	k->done = true;
	tell_taken(k->of, json_object_get(msg, "taken"));
	tell_ports(k->of);
	answer_waiter(&k->waiter, true, NULL);
	if (!k->base)
		link_close(k);
}

static void
on_link(struct loop_watch *w, uint32_t events)
{
	struct request_link *k = (struct request_link *)(void *)w;
	struct session *s = k->of;
	struct egress *g = s->of;
	json_t *again = NULL; /* to rows, after the end of what we have */
	auto_json json_t *msg = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct err e = { 0 };

	(void)events;
	if (channel_recv(k->fd, clock_ms(), &msg, &fds, &e) == 0 && !k->done &&
	    json_is_true(json_object_get(msg, "ok"))) {
		take_sockets(k, msg, &fds);
		return;
	}
	if (!k->done) {
		log_line(LOG_WARN, "sockets", "session %s: %s", s->id,
		    msg != NULL ? json_str(msg, "message") : e.msg);
		again =
		    json_pack("{s:s, s:s}", "op", "again", "session", s->id);
	}
	if (k->base)
		lose(s);
	else
		link_close(k);
	if (again != NULL)
		(void)tell(g, again);
}

/* The link that ends with the cell; NULL: none. */
static struct request_link *
base_link(const struct session *s)
{
	struct request_link *k = TAILQ_FIRST(&s->links);

	while (k != NULL && !k->base)
		k = TAILQ_NEXT(k, link);
	return k;
}

static void
link_open(struct session *s, int fd, int waiter, bool base)
{
	struct request_link *k = base ? base_link(s) : NULL;

	if (k != NULL) /* rows was not sure that we had it */
		link_close(k);
	k = xcalloc(1, sizeof(*k));

	*k = (struct request_link){ .watch = { .ready = on_link, .fd = -1 },
		.of = s,
		.fd = fd,
		.waiter = waiter,
		.base = base };
	TAILQ_INSERT_TAIL(&s->links, k, link);
	if (loop_watch(&s->of->loop, &k->watch, fd, EPOLLIN) < 0)
		link_close(k);
}

/* ---- sessions */

/* After its turn a connection is the last: one transfer stops no other. */
static void
on_budget(struct session *s)
{
	for (size_t left = s->conn_count; left > 0 && budget_left(s); left--) {
		struct conn *c = TAILQ_FIRST(&s->conns);

		if (c == NULL)
			return;
		TAILQ_REMOVE(&s->conns, c, link);
		TAILQ_INSERT_TAIL(&s->conns, c, link);
		conn_step(c);
	}
}

struct session *
session_find(struct egress *g, const char *id)
{
	struct session *s = TAILQ_FIRST(&g->sessions);

	while (s != NULL && !str_equal(s->id, id))
		s = TAILQ_NEXT(s, link);
	return s;
}

static struct session *
session_new(struct egress *g, const json_t *msg, int64_t generation)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->of = g;
	s->generation = generation;
	s->tell_left = TELL_BURST;
	s->tell_at_ms = clock_ms();
	TAILQ_INIT(&s->listeners);
	TAILQ_INIT(&s->links);
	TAILQ_INIT(&s->conns);
	TAILQ_INIT(&s->lookups);
	str_copy(s->id, sizeof(s->id), json_str(msg, "session"));
	str_copy(s->tenant, sizeof(s->tenant), json_str(msg, "tenant"));
	TAILQ_INSERT_TAIL(&g->sessions, s, link);
	budget_open(s, on_budget);
	return s;
}

static void
session_release(void *owner)
{
	struct session *s = owner;

	policy_forget(s);
	standins_free(&s->standins);
	free(s);
}

void
session_end(struct session *s)
{
	struct egress *g = s->of;
	json_t *last = session_report(s);

	if (last != NULL)
		(void)tell(g,
		    json_pack("{s:s, s:[o]}", "op", "use", "sessions", last));
	while (!TAILQ_EMPTY(&s->conns))
		conn_close(TAILQ_FIRST(&s->conns), true);
	names_end(s);
	while (!TAILQ_EMPTY(&s->listeners))
		listener_close(TAILQ_FIRST(&s->listeners));
	while (!TAILQ_EMPTY(&s->links))
		link_close(TAILQ_FIRST(&s->links));
	loop_clear(&g->loop, &s->budget_timer);
	TAILQ_REMOVE(&g->sessions, s, link);
	loop_bury(&g->loop, s, session_release);
}

/* Closes connections that the policies do not allow any more. */
static void
close_forbidden(struct session *s)
{
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&s->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (c->host[0] == '\0' || c->leaving ||
		    (policy_allows(s, c->host, c->port) &&
			!(c->unchecked && policy_is_strict(s))))
			continue;
		deny(s, DENY_POLICY_CHANGED, c->host, c->port, NULL);
		conn_close(c, true);
	}
}

void
session_follow(struct egress *g, const json_t *msg, const json_t *body,
    int link_fd, int waiter)
{
	int64_t generation =
	    json_integer_value(json_object_get(msg, "generation"));
	struct session *s = session_find(g, json_str(msg, "session"));

	if (s != NULL && s->generation != generation) {
		session_end(s);
		s = NULL;
	}
	if (s == NULL && !json_is_true(json_object_get(msg, "base"))) {
		/* the session has ended meanwhile */
		mem_close_fd(&link_fd);
		answer_waiter(&waiter, false, "the session's cell has ended");
		return;
	}
	if (s == NULL)
		s = session_new(g, msg, generation);
	policy_read(s, body);
	close_forbidden(s);
	if (link_fd < 0) /* the sandbox does not answer; rows asks it again */
		return;
	link_open(s, link_fd, waiter,
	    json_is_true(json_object_get(msg, "base")));
}

json_t *
session_report(struct session *s)
{
	const struct use u = s->use;

	if (u.connections == 0 && u.requests == 0 && u.bytes_in == 0 &&
	    u.bytes_out == 0 && u.denied == 0)
		return NULL;
	s->use = (struct use){ 0 };
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I}", "session", s->id,
	    "connections", (json_int_t)u.connections, "requests",
	    (json_int_t)u.requests, "bytesIn", (json_int_t)u.bytes_in,
	    "bytesOut", (json_int_t)u.bytes_out, "denied",
	    (json_int_t)u.denied);
}
