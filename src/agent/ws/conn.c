/* conn.c: sends and receives messages on one WebSocket. */
#include "agent/ws/conn.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "common/clock.h"
#include "common/mem.h"

enum { END_MS = 10000 };

void
ws_conn_init(struct ws_conn *c, int fd)
{
	c->fd = fd;
	lock_init(&c->lock, LOCK_WS_CONN);
}

void
ws_conn_free(struct ws_conn *c)
{
	lock_destroy(&c->lock);
	close(take_fd(&c->fd));
}

bool
ws_receive(struct ws_conn *c, struct ws_piece *out)
{
	unsigned char what;
	struct iovec io[] = { { &what, 1 }, { out->data, WSLINK_MAX } };
	struct msghdr m = { .msg_iov = io, .msg_iovlen = ARRAY_LEN(io) };
	ssize_t n;

	do {
		n = recvmsg(c->fd, &m, 0);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return false;
	out->kind = (enum wslink_kind)(what & WSLINK_KIND);
	out->last = (what & WSLINK_FIN) != 0;
	out->len = (size_t)n - 1;
	return true;
}

static int
send_packet(const struct ws_conn *c, int what, const char *data, size_t len,
    int how)
{
	unsigned char first = (unsigned char)what;
	/* the cast is safe: sendmsg() does not write to its buffers */
	struct iovec io[] = { { &first, 1 }, { (char *)(uintptr_t)data, len } };
	struct msghdr m = { .msg_iov = io, .msg_iovlen = ARRAY_LEN(io) };
	ssize_t n;

	do {
		n = sendmsg(c->fd, &m, MSG_NOSIGNAL | how);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

void
ws_hold(struct ws_conn *c)
{
	lock_take(&c->lock);
}

void
ws_let_go(struct ws_conn *c)
{
	lock_drop(&c->lock);
}

int
ws_send_part(struct ws_conn *c, enum wslink_kind kind, const char *data,
    size_t len, bool last)
{
	while (len > WSLINK_MAX) {
		if (send_packet(c, kind, data, WSLINK_MAX, 0) < 0)
			return -1;
		data += WSLINK_MAX;
		len -= WSLINK_MAX;
	}
	return send_packet(c, (int)kind | (last ? WSLINK_FIN : 0), data, len,
	    0);
}

int
ws_send(struct ws_conn *c, enum wslink_kind kind, const char *data, size_t len)
{
	int rc;

	ws_hold(c);
	rc = ws_send_part(c, kind, data, len, true);
	ws_let_go(c);
	return rc;
}

static void
send_close(const struct ws_conn *c, enum ws_code code, const char *why, int how)
{
	char data[2 + 124];
	size_t len = strlen(why);

	data[0] = (char)(code >> 8);
	data[1] = (char)code;
	len = len < sizeof(data) - 2 ? len : sizeof(data) - 2;
	memcpy(data + 2, why, len);
	(void)!send_packet(c, WSLINK_CLOSE, data, 2 + len, how);
	shutdown(c->fd, SHUT_WR);
}

void
ws_close(struct ws_conn *c, enum ws_code code, const char *why)
{
	send_close(c, code, why, MSG_DONTWAIT);
}

void
ws_finish(struct ws_conn *c, enum ws_code code, const char *why)
{
	ws_hold(c);
	send_close(c, code, why, 0);
	ws_let_go(c);
}

void
ws_await_end(struct ws_conn *c)
{
	auto_free struct ws_piece *p = xmalloc(sizeof(*p));
	int64_t deadline_ms = clock_ms() + END_MS;
	struct pollfd f = { c->fd, POLLIN, 0 };

	shutdown(c->fd, SHUT_WR);
	while (poll(&f, 1, (int)clock_left_ms(deadline_ms)) > 0 &&
	    ws_receive(c, p))
		;
}
