/* side.c: reads, writes and closes one end of a connection. */
#include "egress/serve/side.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"

enum {
	UNSENT_MAX = 128 * 1024,
	ORPHAN_MAX = 16 * 1024 /* bytes that the kernel may send without us */
};

void
side_open(struct side *s, int fd, void *owner,
    void (*ready)(struct loop_watch *w, uint32_t events))
{
	*s = (struct side){ .watch = { .ready = ready, .fd = -1 },
		.owner = owner,
		.fd = fd };
}

void
side_save_memory(struct side *s)
{
	int most = UNSENT_MAX;

	setsockopt(s->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof(most));
}

void
side_note(struct side *s, uint32_t events)
{
	s->hung_up = s->hung_up || (events & EPOLLRDHUP) != 0;
	s->urgent = s->urgent || (events & EPOLLPRI) != 0;
}

bool
side_pending(const struct side *s)
{
	return s->sent < s->out.len;
}

static int
tcp_state(const struct side *s)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0
	    ? TCP_CLOSE
	    : info.tcpi_state;
}

size_t
side_unread(const struct side *s)
{
	int kept = 0;

	/* bytes for a peer that has reset the connection are counted on */
	if (s->fd < 0 || tcp_state(s) == TCP_CLOSE ||
	    ioctl(s->fd, SIOCOUTQ, &kept) < 0)
		return 0;
	return s->out.len - s->sent + (size_t)kept;
}

bool
side_may_go(const struct side *s)
{
	return !side_pending(s) && side_unread(s) <= ORPHAN_MAX;
}

bool
side_has_end(const struct side *s)
{
	return tcp_state(s) != TCP_ESTABLISHED;
}

/* ---- with TLS; each returns bytes, 0 for "not now", or -1 */

static ssize_t
tls_outcome(struct side *s, int rc)
{
	if (rc > 0)
		return rc;
	s->tls_wants_write = false;
	switch (SSL_get_error(s->ssl, rc)) {
	case SSL_ERROR_WANT_WRITE:
		s->tls_wants_write = true;
		return 0;
	case SSL_ERROR_WANT_READ:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		s->ended = true;
		return 0;
	default:
		ERR_clear_error();
		return -1;
	}
}

static ssize_t
tls_read(struct side *s, void *data, size_t size)
{
	return tls_outcome(s,
	    SSL_read(s->ssl, data, size > INT_MAX ? INT_MAX : (int)size));
}

static ssize_t
tls_write(struct side *s, const void *data, size_t len)
{
	return tls_outcome(s,
	    SSL_write(s->ssl, data, len > INT_MAX ? INT_MAX : (int)len));
}

int
side_handshake(struct side *s)
{
	int rc;

	if (s->ssl == NULL || s->tls_done)
		return 1;
	rc = SSL_do_handshake(s->ssl);
	if (rc == 1) {
		s->tls_done = true;
		s->tls_wants_write = false;
		return 1;
	}
	return tls_outcome(s, rc) < 0 || s->ended ? -1 : 0;
}

/* ---- without */

static bool
is_temporary(void)
{
	return errno == EAGAIN || errno == EINTR;
}

ssize_t
side_read(struct side *s, void *data, size_t size)
{
	ssize_t n;

	if (s->fd < 0 || s->ended)
		return 0;
	if (s->ssl != NULL)
		return tls_read(s, data, size);
	n = recv(s->fd, data, size, 0);
	if (n == 0)
		s->ended = true;
	if (n < 0)
		return is_temporary() ? 0 : -1;
	return n;
}

static ssize_t
send_some(struct side *s, const void *data, size_t len)
{
	ssize_t n;

	if (s->ssl != NULL)
		return tls_write(s, data, len);
	n = send(s->fd, data, len, MSG_NOSIGNAL);
	if (n < 0)
		return is_temporary() ? 0 : -1;
	return n;
}

static int
tell_end(struct side *s)
{
	s->shut = true;
	if (s->ssl != NULL)
		(void)SSL_shutdown(s->ssl);
	ERR_clear_error();
	/* ENOTCONN: the peer has closed already */
	return shutdown(s->fd, SHUT_WR) < 0 && errno != ENOTCONN ? -1 : 0;
}

int
side_flush(struct side *s)
{
	while (side_pending(s)) {
		ssize_t n =
		    send_some(s, s->out.data + s->sent, s->out.len - s->sent);

		if (n < 0)
			return -1;
		if (n == 0)
			return 0;
		s->sent += (size_t)n;
	}
	/* an idle connection keeps no memory for bytes */
	buf_free(&s->out);
	s->sent = 0;
	return s->finishing && !s->shut ? tell_end(s) : 0;
}

int
side_write(struct side *s, const void *data, size_t len)
{
	const char *bytes = data;

	if (s->fd < 0 || s->finishing)
		return 0;
	while (!side_pending(s) && len > 0) {
		ssize_t n = send_some(s, bytes, len);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		bytes += n;
		len -= (size_t)n;
	}
	if (len > 0)
		buf_add(&s->out, bytes, len);
	return 0;
}

/* Takes the rest out of the pipe. */
static int
keep_rest(struct side *to, int pipe_fd, size_t len)
{
	while (len > 0) {
		ssize_t n = read(pipe_fd, buf_room(&to->out, len), len);

		if (n <= 0)
			return -1;
		to->out.len += (size_t)n;
		len -= (size_t)n;
	}
	return 0;
}

ssize_t
side_move(struct side *from, struct side *to, const int pipe[2], size_t size)
{
	ssize_t got, left;

	if (from->fd < 0 || from->ended)
		return 0;
	got = splice(from->fd, NULL, pipe[1], NULL, size,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (got == 0)
		from->ended = true;
	if (got < 0)
		return is_temporary() ? 0 : -1;
	for (left = got; left > 0;) {
		ssize_t n = splice(pipe[0], NULL, to->fd, NULL, (size_t)left,
		    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

		if (n < 0 && is_temporary())
			break;
		if (n <= 0) {
			(void)!keep_rest(to, pipe[0], (size_t)left);
			return -2;
		}
		left -= n;
	}
	return keep_rest(to, pipe[0], (size_t)left) < 0 ? -2 : got;
}

int
side_finish(struct side *s)
{
	s->finishing = true;
	return s->fd >= 0 ? side_flush(s) : 0;
}

void
side_wait_for(struct side *s, size_t bytes)
{
	int low = (int)bytes;

	setsockopt(s->fd, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low));
}

int
side_watch(struct loop *l, struct side *s, bool wants_bytes)
{
	uint32_t events = 0;

	if (s->fd < 0)
		return 0;
	if (wants_bytes && !s->ended)
		events |= s->tls_wants_write ? EPOLLOUT : EPOLLIN;
	/* the bytes before the end may stay where they are */
	if (s->tells_end && !s->hung_up && !s->ended)
		events |= EPOLLRDHUP;
	if (side_pending(s))
		events |= EPOLLOUT;
	/* neither a peek nor a splice comes past urgent data */
	if (events != 0)
		events |= EPOLLPRI;
	return loop_watch(l, &s->watch, s->fd, events);
}

void
side_close(struct loop *l, struct side *s, bool reset)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	loop_forget(l, &s->watch);
	if (s->ssl != NULL)
		SSL_free(TAKE(s->ssl));
	s->tls_done = s->tls_wants_write = false;
	if (s->fd >= 0 && reset)
		setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	mem_close_fd(&s->fd);
	buf_free(&s->out);
	s->sent = 0;
}
