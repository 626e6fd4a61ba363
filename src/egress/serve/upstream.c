/* upstream.c: resolves the server's name on the host and connects to it. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "common/clock.h"
#include "egress/serve/serve.h"

enum {
	CONNECT_MS = 5000, /* for one address of the server */
	ASK_MS = 30000     /* for the answer of the site's proxy */
};

static void try_next_address(struct conn *c);

static bool
uses_proxy(const struct conn *c)
{
	return c->of->of->via_host[0] != '\0';
}

static void
on_open(struct conn *c)
{
	c->upstream = UPSTREAM_OPEN;
	loop_clear(&c->of->of->loop, &c->timer);
	c->reached(c, UPSTREAM_READY, NULL);
}

static void
fail(struct conn *c, const char *why)
{
	upstream_close(c, true);
	c->reached(c, UPSTREAM_FAILED, why);
}

/* The site's proxy is connected: asks it for the server. */
static void
ask_proxy(struct conn *c)
{
	struct egress *g = c->of->of;

	c->upstream = UPSTREAM_ASKING;
	loop_set(&g->loop, &c->timer, clock_ms() + ASK_MS);
	if (via_ask(c) < 0 || side_watch(&g->loop, &c->server, true) < 0)
		fail(c, "the site's proxy cannot be reached");
}

static void
hear_proxy(struct conn *c)
{
	int rc = via_answer(c);

	if (rc < 0)
		fail(c, "the site's proxy refuses it");
	else if (rc == 1)
		on_open(c);
}

static void
on_connected(struct conn *c)
{
	int on = 1;

	setsockopt(c->server.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(c->server.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (serve_is_crowded(c->of->of))
		side_save_memory(&c->server);
	if (uses_proxy(c))
		ask_proxy(c);
	else
		on_open(c);
}

static void
on_server(struct loop_watch *w, uint32_t events)
{
	struct side *s = (struct side *)(void *)w;
	struct conn *c = s->owner;
	socklen_t len = sizeof(int);
	int error = 0;

	side_note(s, events);
	if (c->upstream == UPSTREAM_OPEN || s->urgent) {
		c->reached(c, UPSTREAM_READY, NULL);
		return;
	}
	if (c->upstream == UPSTREAM_ASKING) {
		hear_proxy(c);
		return;
	}
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ||
	    error != 0)
		try_next_address(c);
	else
		on_connected(c);
}

/* Begins to connect; false if that fails at once. */
static bool
begin_connect(struct conn *c, const struct address *a)
{
	struct egress *g = c->of->of;
	struct sockaddr_storage to;
	uint16_t port = uses_proxy(c) ? g->via_port : c->port;
	socklen_t len = address_socket(a, port, &to);
	int fd =
	    socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return false;
	side_open(&c->server, fd, c, on_server);
	c->upstream = UPSTREAM_CONNECTING;
	loop_set(&g->loop, &c->timer, clock_ms() + CONNECT_MS);
	if ((connect(fd, (struct sockaddr *)&to, len) < 0 &&
		errno != EINPROGRESS) ||
	    loop_watch(&g->loop, &c->server.watch, fd, EPOLLOUT) < 0) {
		side_close(&g->loop, &c->server, true);
		return false;
	}
	return true;
}

/*
 * The check is made here, for the address that connect() gets: a name may
 * resolve to another one each time.
 */
static bool
may_connect(const struct conn *c, const struct address *a)
{
	return address_may_connect(a, &c->of->of->exceptions);
}

static void
try_next_address(struct conn *c)
{
	char refused[ADDRESS_TEXT_MAX] = "";

	side_close(&c->of->of->loop, &c->server, true);
	while (c->next_address < c->found.count) {
		const struct address *a = &c->found.list[c->next_address++];

		/* a proxy's address is the operator's choice */
		if (!uses_proxy(c) && !may_connect(c, a))
			address_print(a, refused);
		else if (begin_connect(c, a))
			return;
	}
	c->upstream = UPSTREAM_NONE;
	if (refused[0] != '\0')
		c->reached(c, UPSTREAM_REFUSED, refused);
	else
		c->reached(c, UPSTREAM_FAILED, "the server cannot be reached");
}

static void
on_resolved(void *ctx, const struct resolved *r)
{
	struct conn *c = ctx;

	c->found = *r;
	c->next_address = 0;
	if (r->status == RESOLVE_OK)
		try_next_address(c);
	else
		c->reached(c, UPSTREAM_FAILED, failure_to_resolve(r->status));
}

bool
upstream_timed_out(struct conn *c)
{
	if (c->upstream == UPSTREAM_ASKING) {
		fail(c, "the site's proxy does not answer");
		return true;
	}
	if (c->upstream != UPSTREAM_CONNECTING)
		return false;
	try_next_address(c);
	return true;
}

/* The site's proxy gets no address that we would not connect to. */
static bool
is_refused_address(const struct conn *c)
{
	struct address a;

	return address_parse(c->host, &a) && !may_connect(c, &a);
}

void
upstream_connect(struct conn *c)
{
	struct egress *g = c->of->of;

	if (uses_proxy(c) && is_refused_address(c)) {
		c->reached(c, UPSTREAM_REFUSED, c->host);
		return;
	}
	c->upstream = UPSTREAM_RESOLVING;
	loop_clear(&g->loop, &c->timer); /* the resolver has its own */
	resolver_ask(g->resolver, c->of->tenant,
	    uses_proxy(c) ? g->via_host : c->host, on_resolved, c, &c->query);
}

void
upstream_close(struct conn *c, bool reset)
{
	resolver_cancel(&c->query);
	side_close(&c->of->of->loop, &c->server, reset);
	c->upstream = UPSTREAM_NONE;
}
