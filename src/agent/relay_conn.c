/* relay_conn.c: one relayed connection. */
#include "agent/relay_conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/activity.h"
#include "agent/loop.h"
#include "agent/loopback.h"
#include "agent/relay_page.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	BUFFER = 16384,   /* one way of one connection */
	HEAD_MAX = 16384, /* of a request that nobody will answer */
	HEAD_MS = 5000,
	LINGER_MS = 2000,
	HUNG_UP_MS = 30000
};

enum phase {
	CONNECTING_4, /* to 127.0.0.1 */
	CONNECTING_6, /* to ::1 */
	COPYING,
	HEAD,   /* nothing listens: reading what was asked */
	ANSWER, /* ... writing the page */
	LINGER, /* ... waiting for the other end to have read it */
	OVER
};

enum side { CLIENT, SERVER };

struct conn;

struct end {
	struct loop_item item;
	struct conn *conn;
	enum side side;
	int fd;
	char *data;         /* read from fd, not yet written to the other */
	size_t from, until; /* what of data is to be written */
	bool eof;           /* fd has said its last */
	bool shut;          /* ... and the other end has been told */
	bool hung_up;       /* closed both ways: no longer watched */
};

struct conn {
	struct end end[2];
	int port;
	enum phase phase;
	bool begun;          /* the client's first bytes have been looked at */
	bool probe;          /* ... and what comes here is no activity */
	int64_t deadline_ms; /* 0: none */
	struct buf page;
	size_t page_sent;
	struct conn *next;
};

static struct conn *conns;

static void step(struct conn *c, enum side at, uint32_t events);

static void
ready(struct loop_item *item, uint32_t events)
{
	struct end *e = (struct end *)item;

	if (e->conn->phase != OVER && e->fd >= 0)
		step(e->conn, e->side, events);
}

static void
close_end(struct end *e)
{
	if (e->fd >= 0) {
		loop_forget(e->fd);
		close(take_fd(&e->fd));
	}
	free(TAKE(e->data));
}

/* The memory goes with the next second: an event may still point here. */
static void
finish(struct conn *c)
{
	if (c->phase == OVER)
		return;
	c->phase = OVER;
	close_end(&c->end[CLIENT]);
	close_end(&c->end[SERVER]);
	buf_free(&c->page);
	activity_end(ACTIVITY_RELAYS);
}

/* ---- connecting */

static void
give_up(struct conn *c)
{
	close_end(&c->end[SERVER]);
	c->phase = HEAD;
	c->deadline_ms = clock_ms() + HEAD_MS;
	loop_change(c->end[CLIENT].fd, EPOLLIN, &c->end[CLIENT].item);
}

static void
try_connect(struct conn *c, enum phase how)
{
	struct end *server = &c->end[SERVER];

	for (; how <= CONNECTING_6; how++) {
		close_end(server);
		server->fd = loopback_connect(c->port,
		    how == CONNECTING_4 ? AF_INET : AF_INET6);
		if (server->fd >= 0 &&
		    loop_watch(server->fd, EPOLLOUT, &server->item) == 0) {
			c->phase = how;
			return;
		}
	}
	give_up(c);
}

void
relay_conn_start(int client, int port)
{
	struct conn *c = xcalloc(1, sizeof(*c));

	c->port = port;
	c->next = conns;
	for (int i = 0; i < 2; i++)
		c->end[i] = (struct end){ .item = { ready },
			.conn = c,
			.side = (enum side)i,
			.fd = -1 };
	c->end[CLIENT].fd = client;
	conns = c;
	activity_begin(ACTIVITY_RELAYS);
	if (loop_watch(client, 0, &c->end[CLIENT].item) < 0)
		finish(c);
	else
		try_connect(c, CONNECTING_4);
}

/* ---- copying */

/*
 * nginx sets this header itself, in this spelling, or takes it out; it sends
 * a request's head in one piece.
 */
static bool
is_probe(const char *data, size_t len)
{
	static const char HEADER[] = "\r\nX-Sandlease-Probe: 1\r\n";
	const char *end = memmem(data, len, "\r\n\r\n", 4);

	if (end != NULL)
		len = (size_t)(end + 2 - data);
	return memmem(data, len, HEADER, sizeof(HEADER) - 1) != NULL;
}

/* Reads into an empty buffer.  -1: the connection is broken. */
static int
fill(struct end *e)
{
	ssize_t n;

	if (e->eof || e->until > 0)
		return 0;
	if (e->data == NULL)
		e->data = xmalloc(BUFFER);
	n = recv(e->fd, e->data, BUFFER, 0);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0) {
		e->eof = true;
		return 0;
	}
	e->from = 0;
	e->until = (size_t)n;
	if (e->side == CLIENT && !e->conn->begun) {
		e->conn->begun = true;
		e->conn->probe = is_probe(e->data, e->until);
	}
	if (!e->conn->probe)
		activity_relayed();
	return 0;
}

static int
empty(struct end *e, struct end *to)
{
	while (e->from < e->until) {
		ssize_t n = send(to->fd, e->data + e->from, e->until - e->from,
		    MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		e->from += (size_t)n;
	}
	e->from = e->until = 0;
	if (e->eof && !e->shut) {
		e->shut = true;
		shutdown(to->fd, SHUT_WR);
	}
	return 0;
}

/* What each end waits for; an idle connection keeps no buffer. */
static void
rearm(struct conn *c)
{
	for (int i = 0; i < 2; i++) {
		struct end *e = &c->end[i];
		struct end *other = &c->end[1 - i];
		uint32_t want = 0;

		if (!e->eof && e->until == 0)
			want |= EPOLLIN;
		if (other->until > 0)
			want |= EPOLLOUT;
		if (e->until == 0)
			free(TAKE(e->data));
		if (!e->hung_up)
			loop_change(e->fd, want, &e->item);
	}
}

/*
 * A hang-up is told again and again, whatever one waits for: no longer
 * watched, such an end is read when the other has room, for a while.
 */
static void
hang_up(struct conn *c, struct end *e)
{
	if (e->hung_up)
		return;
	e->hung_up = true;
	loop_forget(e->fd);
	c->deadline_ms = clock_ms() + HUNG_UP_MS;
}

/* From e to the other; all there is when nobody will tell of more. */
static int
move(struct end *e, struct end *to)
{
	bool again;

	do {
		if (fill(e) < 0)
			return -1;
		again = e->hung_up && e->until > 0;
		if (empty(e, to) < 0)
			return -1;
	} while (again && e->until == 0);
	return 0;
}

static void
copy(struct conn *c, enum side at, uint32_t events)
{
	struct end *a = &c->end[CLIENT], *b = &c->end[SERVER];

	if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		hang_up(c, &c->end[at]);
	if (move(a, b) < 0 || move(b, a) < 0 || (a->shut && b->shut) ||
	    (a->hung_up && a->shut) || (a->hung_up && b->hung_up))
		finish(c);
	else
		rearm(c);
}

static void
connected(struct conn *c)
{
	if (loopback_error(c->end[SERVER].fd) != 0) {
		try_connect(c, c->phase + 1);
		return;
	}
	c->phase = COPYING;
	rearm(c);
}

/* ---- nothing listens */

static void
make_page(struct conn *c, bool json)
{
	struct end *e = &c->end[CLIENT];
	struct port_list ports;

	relay_page_ports(&ports);
	relay_page_write(&c->page, c->port, json, &ports);
	c->phase = ANSWER;
	loop_change(e->fd, EPOLLOUT, &e->item);
}

static void
read_head(struct conn *c)
{
	struct end *e = &c->end[CLIENT];
	bool whole;
	ssize_t n;

	if (e->data == NULL)
		e->data = xmalloc(HEAD_MAX);
	n = recv(e->fd, e->data + e->until, HEAD_MAX - e->until, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		finish(c);
		return;
	}
	e->until += (size_t)n;
	whole = memmem(e->data, e->until, "\r\n\r\n", 4) != NULL;
	if (whole || e->until == HEAD_MAX)
		make_page(c, relay_page_for_programs(e->data, e->until));
}

static void
write_page(struct conn *c)
{
	struct end *e = &c->end[CLIENT];
	ssize_t n = send(e->fd, c->page.data + c->page_sent,
	    c->page.len - c->page_sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		finish(c);
		return;
	}
	c->page_sent += (size_t)n;
	if (c->page_sent < c->page.len)
		return;
	shutdown(e->fd, SHUT_WR);
	c->phase = LINGER;
	c->deadline_ms = clock_ms() + LINGER_MS;
	loop_change(e->fd, EPOLLIN, &e->item);
}

/* Closing with bytes unread would tear the page out of the reader's hands. */
static void
linger(struct conn *c)
{
	struct end *e = &c->end[CLIENT];
	ssize_t n = recv(e->fd, e->data, HEAD_MAX, 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		finish(c);
}

static void
step(struct conn *c, enum side at, uint32_t events)
{
	/* a client that leaves while nobody reads shows as a hang-up only */
	if (c->phase < COPYING && at == CLIENT) {
		if ((events & (EPOLLHUP | EPOLLERR)) != 0)
			finish(c);
		return;
	}
	switch (c->phase) {
	case CONNECTING_4:
	case CONNECTING_6:
		connected(c);
		break;
	case COPYING:
		copy(c, at, events);
		break;
	case HEAD:
		read_head(c);
		break;
	case ANSWER:
		write_page(c);
		break;
	case LINGER:
		linger(c);
		break;
	case OVER:
		break;
	}
}

void
relay_conn_close_port(int port)
{
	for (struct conn *c = conns; c != NULL; c = c->next)
		if (c->port == port)
			finish(c);
}

void
relay_conn_each_second(void)
{
	for (struct conn **at = &conns; *at != NULL;) {
		struct conn *c = *at;

		if (c->deadline_ms > 0 && clock_left_ms(c->deadline_ms) == 0)
			finish(c);
		if (c->phase != OVER) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}
