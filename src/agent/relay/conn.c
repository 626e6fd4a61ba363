/* conn.c: one relayed connection. */
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
	HEAD_MAX = 16384, /* of a request that nobody will answer */
	HEAD_MS = 5000,
	LINGER_MS = 2000
};

/* The loop's thread only. */
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
}

/* The memory goes with the next second: an event may still point here. */
void
relay_conn_finish(struct conn *c)
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

int
relay_conn_flush(int fd, struct buf *b, size_t *sent)
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

int
relay_conn_send(int fd, const char *data, size_t len, struct buf *rest)
{
	ssize_t n = 0;

	while (len > 0) {
		n = send(fd, data, len, MSG_NOSIGNAL);
		if (n < 0)
			break;
		data += n;
		len -= (size_t)n;
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return -1;
	if (len > 0)
		buf_add(rest, data, len);
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
		relay_conn_finish(c);
	else
		try_connect(c, CONNECTING_4);
}

/* ---- the end of a response */

static void
write_last(struct conn *c)
{
	struct end *e = &c->end[CLIENT];

	if (relay_conn_flush(e->fd, &c->out, &c->out_sent) < 0) {
		relay_conn_finish(c);
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

void
relay_conn_leave_app(struct conn *c)
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
	char unread[4096];
	ssize_t n = recv(c->end[CLIENT].fd, unread, sizeof(unread), 0);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		relay_conn_finish(c);
}

static void
connected(struct conn *c)
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
read_head(struct conn *c)
{
	struct relay_request asked;
	struct port_list ports;
	ssize_t n = recv(c->end[CLIENT].fd, buf_room(&c->in, HEAD_MAX),
	    HEAD_MAX - c->in.len, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		relay_conn_finish(c);
		return;
	}
	c->in.len += (size_t)n;
	if (memmem(c->in.data, c->in.len, "\r\n\r\n", 4) == NULL &&
	    c->in.len < HEAD_MAX)
		return;
	asked = relay_request_read(c->in.data, c->in.len);
	relay_page_ports(&ports);
	relay_page_write(&c->out, c->port, asked.page, &ports);
	relay_conn_leave_app(c);
}

static void
step(struct conn *c, enum side at, uint32_t events)
{
	/* a client that leaves while nobody reads shows as a hang-up only */
	if (c->phase < COPYING && at == CLIENT) {
		if ((events & (EPOLLHUP | EPOLLERR)) != 0)
			relay_conn_finish(c);
		return;
	}
	switch (c->phase) {
	case CONNECTING_4:
	case CONNECTING_6:
		connected(c);
		break;
	case COPYING:
		relay_copy_step(c, at, events);
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
			relay_conn_finish(c);
}

void
relay_conn_each_second(void)
{
	for (struct conn **at = &conns; *at != NULL;) {
		struct conn *c = *at;

		if (c->deadline_ms > 0 && clock_left_ms(c->deadline_ms) == 0)
			relay_conn_finish(c);
		if (c->phase != OVER) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}
