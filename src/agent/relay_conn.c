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
#include "agent/relay_request.h"
#include "common/clock.h"
#include "common/mem.h"
#include "web/http_reply.h"

enum {
	CHUNK = 65536,    /* one read, either way */
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
	LAST,   /* the app is done with: writing what is left for the client */
	LINGER, /* waiting for the client to have read it */
	OVER
};

enum side { CLIENT, SERVER };

struct conn;

struct end {
	struct loop_item item;
	struct conn *conn;
	enum side side;
	int fd;
};

struct conn {
	struct end end[2];
	int port;
	enum phase phase;
	struct relay_request asked;
	bool begun;     /* `asked` has been read, the reply may be */
	bool asked_all; /* the client has said its last */
	bool told_all;  /* ... and the app knows */
	bool deaf;      /* the app reads nothing any more */
	bool hung_up;   /* the app has closed both ways: no longer watched */
	struct buf in;  /* of the request, not yet written to the app */
	struct buf out; /* of the response, not yet written to the client */
	size_t in_sent, out_sent;
	struct http_reply reply;
	int64_t deadline_ms; /* 0: none */
	struct conn *next;
};

/* The loop's thread only. */
static struct conn *conns;
static char chunk[CHUNK];

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
	buf_free(&c->in);
	buf_free(&c->out);
	http_reply_free(&c->reply);
	activity_end(ACTIVITY_RELAYS);
}

/* -1: the peer takes nothing any more. */
static int
flush(int fd, struct buf *b, size_t *sent)
{
	while (*sent < b->len) {
		ssize_t n =
		    send(fd, b->data + *sent, b->len - *sent, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		*sent += (size_t)n;
	}
	buf_free(b); /* an idle connection keeps no buffer */
	*sent = 0;
	return 0;
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

/* ---- the end of a response */

static void
write_last(struct conn *c)
{
	struct end *e = &c->end[CLIENT];

	if (flush(e->fd, &c->out, &c->out_sent) < 0) {
		finish(c);
		return;
	}
	if (c->out.len > 0) {
		loop_change(e->fd, EPOLLOUT, &e->item);
		return;
	}
	shutdown(e->fd, SHUT_WR);
	c->phase = LINGER;
	c->deadline_ms = clock_ms() + LINGER_MS;
	loop_change(e->fd, EPOLLIN, &e->item);
}

/* What the app still says after this reaches nobody. */
static void
leave_app(struct conn *c)
{
	close_end(&c->end[SERVER]);
	c->phase = LAST;
	c->deadline_ms = 0;
	write_last(c);
}

/* Closing with bytes unread would tear the answer out of the reader's hands. */
static void
linger(struct conn *c)
{
	ssize_t n = recv(c->end[CLIENT].fd, chunk, sizeof(chunk), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		finish(c);
}

/* ---- copying */

static void
note_activity(const struct conn *c)
{
	if (!c->asked.probe)
		activity_relayed();
}

static void
begin_request(struct conn *c, size_t len)
{
	c->begun = true;
	c->asked = relay_request_read(chunk, len);
	http_reply_begin(&c->reply,
	    (struct http_reply_to){ .head = c->asked.head,
		.upgrade = c->asked.upgrade });
}

/* From the client to the app, byte by byte: nginx has read it.  -1: broken. */
static int
copy_request(struct conn *c)
{
	int app = c->end[SERVER].fd;
	ssize_t n;

	if (!c->asked_all && !c->deaf && c->in.len == 0) {
		n = recv(c->end[CLIENT].fd, chunk, sizeof(chunk), 0);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		c->asked_all = n == 0;
		if (n > 0 && !c->begun)
			begin_request(c, (size_t)n);
		if (n > 0) {
			note_activity(c);
			buf_add(&c->in, chunk, (size_t)n);
		}
	}
	if (flush(app, &c->in, &c->in_sent) < 0) {
		/* it may have answered before it had read everything */
		c->deaf = true;
		buf_free(&c->in);
		c->in_sent = 0;
	}
	if (c->asked_all && !c->told_all && c->in.len == 0) {
		c->told_all = true;
		shutdown(app, SHUT_WR);
	}
	return 0;
}

/* Nothing has been written for the client yet, or it is cut off. */
static void
refuse_reply(struct conn *c)
{
	if (c->reply.started) {
		finish(c);
		return;
	}
	relay_page_write(&c->out, c->port, c->asked.for_program, NULL);
	leave_app(c);
}

static void
take_reply(struct conn *c, size_t len)
{
	/* one allocation for a chunk and its frame */
	buf_room(&c->out, len + 32);
	switch (http_reply_take(&c->reply, chunk, len, &c->out)) {
	case HTTP_REPLY_COMPLETE:
		leave_app(c);
		break;
	case HTTP_REPLY_REFUSED:
		refuse_reply(c);
		break;
	case HTTP_REPLY_MORE:
	case HTTP_REPLY_UPGRADED:
		if (flush(c->end[CLIENT].fd, &c->out, &c->out_sent) < 0)
			finish(c);
		break;
	}
}

/* From the app to the client.  False when there is nothing to read now. */
static bool
copy_reply(struct conn *c)
{
	ssize_t n;

	if (flush(c->end[CLIENT].fd, &c->out, &c->out_sent) < 0) {
		finish(c);
		return false;
	}
	/* before a request there is no answer to it */
	if (c->out.len > 0 || !c->begun)
		return false;
	n = recv(c->end[SERVER].fd, chunk, sizeof(chunk), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n > 0) {
		note_activity(c);
		take_reply(c, (size_t)n);
	} else if (n == 0 &&
	    http_reply_close(&c->reply, &c->out) == HTTP_REPLY_COMPLETE) {
		leave_app(c);
	} else {
		finish(c); /* nginx sees that it was cut short */
	}
	return c->phase == COPYING;
}

static void
rearm(struct conn *c)
{
	struct end *client = &c->end[CLIENT], *app = &c->end[SERVER];
	bool may_ask = !c->asked_all && !c->deaf && c->in.len == 0;
	bool may_answer = c->begun && c->out.len == 0;

	loop_change(client->fd,
	    (may_ask ? EPOLLIN : 0U) | (c->out.len > 0 ? EPOLLOUT : 0U),
	    &client->item);
	if (!c->hung_up)
		loop_change(app->fd,
		    (may_answer ? EPOLLIN : 0U) |
			(c->in.len > 0 ? EPOLLOUT : 0U),
		    &app->item);
}

/*
 * A hang-up is told again and again, whatever one waits for: no longer
 * watched, the app is read when the client has room, for a while.
 */
static void
hang_up(struct conn *c)
{
	if (c->hung_up)
		return;
	c->hung_up = true;
	loop_forget(c->end[SERVER].fd);
	c->deadline_ms = clock_ms() + HUNG_UP_MS;
}

static void
copy(struct conn *c, enum side at, uint32_t events)
{
	bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;

	if (gone && at == SERVER)
		hang_up(c);
	if ((gone && at == CLIENT) || copy_request(c) < 0) {
		finish(c);
		return;
	}
	while (copy_reply(c) && c->hung_up)
		;
	if (c->phase == COPYING)
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
read_head(struct conn *c)
{
	struct relay_request asked;
	struct port_list ports;
	ssize_t n = recv(c->end[CLIENT].fd, buf_room(&c->in, HEAD_MAX),
	    HEAD_MAX - c->in.len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		finish(c);
		return;
	}
	c->in.len += (size_t)n;
	if (memmem(c->in.data, c->in.len, "\r\n\r\n", 4) == NULL &&
	    c->in.len < HEAD_MAX)
		return;
	asked = relay_request_read(c->in.data, c->in.len);
	relay_page_ports(&ports);
	relay_page_write(&c->out, c->port, asked.for_program, &ports);
	leave_app(c);
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
	case LAST:
		write_last(c);
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
