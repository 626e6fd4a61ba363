/*
 * conn.c: a connection of a sandbox: which host it means, whether the session
 * may reach that, and how it ends.  What its first bytes say is in look.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/serve/serve.h"

enum {
	ACCEPTS = 64,     /* in a row */
	TENANT_SHARE = 2, /* a tenant has at most 1/2 of all connections */
	OVER_MS = 1000    /* how often is looked whether all bytes were read */
};

struct conn *
conn_find(struct session *s, int64_t id)
{
	struct conn *c = TAILQ_FIRST(&s->conns);

	while (c != NULL && c->id != id)
		c = TAILQ_NEXT(c, link);
	return c;
}

/* ---- protocols */

/* The language of the client decides how its bytes are handled. */
static void
set_protocol(struct conn *c)
{
	static const struct protocol *const PROTOCOLS[] = { [SPEAKS_UNKNOWN] =
								&LOOK,
		[SPEAKS_RAW] = &RELAY,
		[SPEAKS_TLS] = &HELLO,
		[SPEAKS_HTTP] = NULL };

	protocol_end(c);
	c->protocol = PROTOCOLS[c->speaks];
	if (c->protocol == NULL)
		http_open(c, c->client.ssl != NULL ? HTTP_IN_TLS : HTTP_DIRECT);
}

/* ---- steps */

/* Reads and drops what still comes, until the client has closed, too. */
static void
step_leaving(struct conn *c)
{
	struct egress *g = c->of->of;
	ssize_t n = -1;

	if (side_flush(&c->client) == 0)
		n = side_read(&c->client, g->read_buffer,
		    sizeof(g->read_buffer));
	if (n < 0)
		conn_close(c, true);
	else if (c->client.ended && !c->cut && side_may_go(&c->client))
		conn_close(c, false);
	else if (side_watch(&g->loop, &c->client, true) < 0)
		conn_close(c, true);
}

/* Watches both sides for what can be done next. */
static int
watch_sides(struct conn *c)
{
	struct loop *l = &c->of->of->loop;

	if (side_watch(l, &c->client, c->protocol->wants_client(c)) < 0)
		return -1;
	return c->upstream == UPSTREAM_OPEN
	    ? side_watch(l, &c->server, c->protocol->wants_server(c))
	    : 0;
}

/* Both ends have been passed on. */
static bool
is_over(const struct conn *c)
{
	return c->client.shut && c->server.shut;
}

void
conn_step(struct conn *c)
{
	enum speaks before = c->speaks;
	int rc;

	if (c->client.urgent || c->server.urgent) {
		if (!c->leaving)
			deny(c->of, DENY_URGENT, c->host, c->port, NULL);
		conn_close(c, true);
		return;
	}
	if (c->leaving) {
		step_leaving(c);
		return;
	}
	rc = c->protocol->step(c);
	if (c->of == NULL || c->leaving)
		return;
	if (rc == 0 && c->speaks != before) {
		set_protocol(c);
		conn_step(c);
		return;
	}
	if (rc < 0 || watch_sides(c) < 0) {
		conn_close(c, true);
		return;
	}
	/* bytes that the kernel still has to send keep the connection */
	if (is_over(c)) {
		if (side_may_go(&c->client) && side_may_go(&c->server))
			conn_close(c, false);
		else
			conn_wait_for_reader(c, OVER_MS);
		return;
	}
	if ((c->protocol == &RELAY || c->protocol == &LOOK) &&
	    (c->client.ended || c->server.ended))
		conn_give_up_after(c, SERVE_HALF_MS);
}

/* The connection to the server has changed. */
static void
on_reached(struct conn *c, enum upstream_result result, const char *text)
{
	switch (result) {
	case UPSTREAM_READY:
		conn_step(c);
		break;
	case UPSTREAM_REFUSED:
		conn_deny(c, DENY_PRIVATE_ADDRESS, text);
		break;
	case UPSTREAM_FAILED:
		conn_fail(c, text);
		break;
	}
}

static void
on_time(struct loop_timer *t)
{
	struct conn *c =
	    (struct conn *)(void *)((char *)t - offsetof(struct conn, timer));

	if (upstream_timed_out(c))
		return;
	if (look_waits(c))
		conn_step(c);
	else
		conn_give_up(c);
}

static void
on_client(struct loop_watch *w, uint32_t events)
{
	struct side *s = (struct side *)(void *)w;
	struct conn *c = s->owner;

	side_note(s, events);
	conn_step(c);
}

/* ---- the beginning */

static void
read_socket_address(const struct sockaddr_storage *from, struct address *to,
    uint16_t *port)
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->ss_family == AF_INET) {
		address_from(AF_INET, &v4->sin_addr, to);
		*port = ntohs(v4->sin_port);
	} else {
		address_from(AF_INET6, &v6->sin6_addr, to);
		*port = ntohs(v6->sin6_port);
	}
}

static bool
is_same_socket(const struct sockaddr_storage *a,
    const struct sockaddr_storage *b)
{
	struct address a_is, b_is;
	uint16_t a_port, b_port;

	read_socket_address(a, &a_is, &a_port);
	read_socket_address(b, &b_is, &b_port);
	return a_port == b_port &&
	    memcmp(&a_is.ip, &b_is.ip, sizeof(a_is.ip)) == 0;
}

/*
 * The address to which the client has connected.  False: the listener's own,
 * where only the packet filter may lead.
 */
static bool
find_address(const struct listener *l, int fd, struct address *to,
    uint16_t *port)
{
	struct sockaddr_storage a = { 0 }, peer = { 0 };
	socklen_t len = sizeof(a);
	bool v6;

	_Static_assert(SO_ORIGINAL_DST == IP6T_SO_ORIGINAL_DST, "one for both");
	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		a.ss_family = AF_INET; /* gone already: 0.0.0.0 */
	read_socket_address(&a, to, port);
	v6 = a.ss_family == AF_INET6;
	len = sizeof(a);
	if (l->kind != LISTENER_REDIRECT)
		return true;
	if (getsockopt(fd, v6 ? SOL_IPV6 : SOL_IP, SO_ORIGINAL_DST, &a, &len) <
	    0)
		return false;
	/* the kernel may take our first answer for a connection to the client */
	len = sizeof(peer);
	if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 &&
	    is_same_socket(&a, &peer))
		return false;
	read_socket_address(&a, to, port);
	return true;
}

/* Which host the client means by that address; false: no name has it. */
static bool
find_host(struct conn *c, const struct address *to)
{
	const char *name = NULL;

	if (address_is_standin(to))
		name = standin_at(&c->of->standins, to);
	if (name != NULL)
		return str_copy(c->host, sizeof(c->host), name);
	address_print(to, c->host);
	return !address_is_standin(to);
}

static void
begin_direct(struct conn *c, bool known)
{
	if (!known) {
		conn_deny(c, DENY_UNKNOWN_ADDRESS, NULL);
		return;
	}
	/* else denied when a text can be returned */
	if (!look_first(c)) {
		if (!policy_allows(c->of, c->host, c->port)) {
			conn_deny(c, policy_denial(c->of, c->host, c->port),
			    NULL);
			return;
		}
		if (!policy_checks_name(c->of, c->host))
			c->speaks = SPEAKS_RAW;
		c->unchecked = c->speaks == SPEAKS_RAW;
	}
	set_protocol(c);
	conn_step(c);
}

/* Whether the tenant has more than its share while others want some. */
static bool
has_share(const struct session *s)
{
	struct egress *g = s->of;
	size_t share = g->conn_max / TENANT_SHARE;
	const struct session *other = TAILQ_FIRST(&g->sessions);
	size_t count = 0;

	if (g->conn_count < share)
		return true;
	for (; other != NULL; other = TAILQ_NEXT(other, link))
		if (str_equal(other->tenant, s->tenant))
			count += other->conn_count;
	return count < share && g->conn_count < g->conn_max;
}

static void
begin_conn(struct listener *l, int fd)
{
	struct session *s = l->of;
	struct egress *g = s->of;
	struct address to;
	bool known;
	struct conn *c = xcalloc(1, sizeof(*c));
	int on = 1;

	c->of = s;
	c->id = ++g->next_id;
	c->timer.fire = on_time;
	c->reached = on_reached;
	side_open(&c->server, -1, c, NULL);
	side_open(&c->client, fd, c, on_client);
	TAILQ_INSERT_TAIL(&s->conns, c, link);
	s->conn_count++;
	g->conn_count++;
	s->use.connections++;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (serve_is_crowded(g))
		side_save_memory(&c->client);
	conn_give_up_after(c, SERVE_FIRST_MS);
	known = find_address(l, fd, &to, &c->port);
	if (l->kind != LISTENER_PROXY)
		known = find_host(c, &to) && known;
	if (s->conn_count > (size_t)g->conf->egress_connections ||
	    !has_share(s)) {
		conn_deny(c, DENY_TOO_MANY, NULL);
		return;
	}
	if (l->kind != LISTENER_PROXY) {
		begin_direct(c, known);
		return;
	}
	c->speaks = SPEAKS_HTTP;
	http_open(c, HTTP_PROXY);
	conn_step(c);
}

void
conn_accept(struct listener *l)
{
	for (int i = 0; i < ACCEPTS; i++) {
		int fd =
		    accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (channel_accept_must_pause(errno))
				listener_pause(l);
			return;
		}
		begin_conn(l, fd);
	}
}
