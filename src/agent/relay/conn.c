/* conn.c: connects, answers and closes one relayed connection. */
#include "agent/relay/conn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/loopback.h"
#include "agent/relay/internal.h"
#include "agent/relay/page.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	HEAD_MAX = 16384, /* bytes of a head when nothing listens on the port */
	HEAD_MS = 5000,   /* for that head to arrive */
	LINGER_MS = 2000  /* for the client to close after its response */
};

/* The loop's thread only. */
static struct relay_conn *conns;

static void serve_event(struct relay_conn *c, enum side at, uint32_t events);

static void
end_ready(struct loop_item *item, uint32_t events)
{
	struct relay_end *e = (struct relay_end *)item;

	if (e->conn->phase != OVER && e->fd >= 0)
		serve_event(e->conn, e->side, events);
}

static void
close_end(struct relay_end *e)
{
	if (e->fd >= 0) {
		loop_forget(e->fd);
		close(take_fd(&e->fd));
	}
}

/*
 * Closes both ends.  An event of this round may still point to `c`, so
 * relay_conn_each_second() frees it later.
 */
static void
close_conn(struct relay_conn *c)
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

/* ---- connecting */

static void
try_connect(struct relay_conn *c, enum phase how)
{
	struct relay_end *server = &c->end[SERVER];

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
	/* Nothing listens.  The request's head decides: page or JSON. */
	close_end(server);
	c->phase = HEAD;
	c->deadline_ms = clock_ms() + HEAD_MS;
	loop_change(c->end[CLIENT].fd, EPOLLIN, &c->end[CLIENT].item);
}

void
relay_conn_start(int client, int port)
{
	struct relay_conn *c = xcalloc(1, sizeof(*c));

	c->port = port;
	c->next = conns;
	for (int i = 0; i < 2; i++)
		c->end[i] = (struct relay_end){ .item = { end_ready },
			.conn = c,
			.side = (enum side)i,
			.fd = -1 };
	c->end[CLIENT].fd = client;
	conns = c;
	activity_begin(ACTIVITY_RELAYS);
	if (loop_watch(client, 0, &c->end[CLIENT].item) < 0)
		close_conn(c);
	else
		try_connect(c, CONNECTING_4);
}

/* ---- the end of a response */

static void
write_rest(struct relay_conn *c)
{
	struct relay_end *e = &c->end[CLIENT];

	if (relay_copy_flush(e->fd, &c->out, &c->out_sent) < 0) {
		close_conn(c);
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

/* Closes the app's end; writes `out` to the client, then closes that end. */
static void
leave_app(struct relay_conn *c)
{
	close_end(&c->end[SERVER]);
	c->phase = LAST;
	c->deadline_ms = 0;
	write_rest(c);
}

/*
 * Reads and discards until the client closes.  close() with unread bytes resets
 * the connection, and the client would lose the end of its response.
 */
static void
discard_input(struct relay_conn *c)
{
	char unread[4096];
	ssize_t n = recv(c->end[CLIENT].fd, unread, sizeof(unread), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_conn(c);
}

static void
finish_connect(struct relay_conn *c)
{
	if (loopback_error(c->end[SERVER].fd) != 0) {
		try_connect(c, c->phase + 1);
		return;
	}
	c->phase = COPYING;
	relay_copy_rearm(c);
}

/* ---- nothing listens */

static void
read_unserved_head(struct relay_conn *c)
{
	struct relay_request asked;
	struct port_list ports;
	ssize_t n = recv(c->end[CLIENT].fd, buf_room(&c->in, HEAD_MAX),
	    HEAD_MAX - c->in.len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_conn(c);
		return;
	}
	c->in.len += (size_t)n;
	if (memmem(c->in.data, c->in.len, "\r\n\r\n", 4) == NULL &&
	    c->in.len < HEAD_MAX)
		return;
	asked = relay_request_read(c->in.data, c->in.len);
	relay_page_ports(&ports);
	relay_page_write(&c->out, c->port, asked.page, &ports);
	leave_app(c);
}

static void
serve_event(struct relay_conn *c, enum side at, uint32_t events)
{
	enum relay_next next;

	/* not reading yet: a client that leaves shows as a hang-up only */
	if (c->phase < COPYING && at == CLIENT) {
		if ((events & (EPOLLHUP | EPOLLERR)) != 0)
			close_conn(c);
		return;
	}
	switch (c->phase) {
	case CONNECTING_4:
	case CONNECTING_6:
		finish_connect(c);
		break;
	case COPYING:
		next = relay_copy_step(c, at, events);
		if (next == RELAY_ANSWERED)
			leave_app(c);
		else if (next == RELAY_BROKEN)
			close_conn(c);
		break;
	case HEAD:
		read_unserved_head(c);
		break;
	case LAST:
		write_rest(c);
		break;
	case LINGER:
		discard_input(c);
		break;
	case OVER:
		break;
	}
}

void
relay_conn_close_port(int port)
{
	for (struct relay_conn *c = conns; c != NULL; c = c->next)
		if (c->port == port)
			close_conn(c);
}

void
relay_conn_each_second(void)
{
	for (struct relay_conn **at = &conns; *at != NULL;) {
		struct relay_conn *c = *at;

		if (c->deadline_ms > 0 && clock_left_ms(c->deadline_ms) == 0)
			close_conn(c);
		if (c->phase != OVER) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}
