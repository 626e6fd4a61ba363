/* channel.c: sends and receives messages of JSON and descriptors. */
#include "common/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { BACKLOG = 4096 }; /* a full backlog is an immediate 502 in nginx */

union control {
	char bytes[CMSG_SPACE(sizeof(int) * CHANNEL_FDS_MAX)];
	struct cmsghdr align;
};

static int
fill_address(struct sockaddr_un *a, const char *path, struct err *e)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!str_copy(a->sun_path, sizeof(a->sun_path), path))
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "%s: longer than a unix socket's name may be", path);
	return 0;
}

/* The message does not name the path, because clients read it. */
static int
set_name_taken(struct err *e)
{
	return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
	    "another process has just taken the name of this socket; try again");
}

int
channel_listen(const char *path, int type, struct err *e)
{
	auto_fd int s = -1;
	struct sockaddr_un a;
	bool free_name;

	if (fill_address(&a, path, e) < 0)
		return -1;
	s = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (s < 0)
		return err_errno(e, "socket");
	free_name = unlink(path) == 0 || errno == ENOENT;
	if (bind(s, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return free_name && errno == EADDRINUSE
		    ? set_name_taken(e)
		    : err_errno(e, "bind %s", path);
	/* the directory's mode limits access; 0660 is for nginx's group */
	if (chmod(path, 0660) < 0)
		return errno == ENOENT ? set_name_taken(e)
				       : err_errno(e, "chmod %s", path);
	if (listen(s, BACKLOG) < 0)
		return err_errno(e, "listen %s", path);
	return take_fd(&s);
}

int
channel_connect(const char *path, struct err *e)
{
	auto_fd int s = -1;
	struct sockaddr_un a;

	if (fill_address(&a, path, e) < 0)
		return -1;
	/* a blocking connect() would wait without limit for a full backlog */
	s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s < 0)
		return err_errno(e, "socket");
	if (connect(s, (const struct sockaddr *)&a, sizeof(a)) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			return err_set(e, ERR_UNAVAILABLE, CODE_NOT_LISTENING,
			    "nothing listens on %s", path);
		if (errno == EAGAIN)
			return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
			    "too many connections wait on %s", path);
		return err_errno(e, "connect %s", path);
	}
	if (fcntl(s, F_SETFL, 0) < 0)
		return err_errno(e, "fcntl");
	return take_fd(&s);
}

int
channel_send(int sock, const json_t *msg, const int *fds, size_t count,
    struct err *e)
{
	auto_free char *text = json_text(msg);
	struct iovec io = { .iov_base = text, .iov_len = strlen(text) };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };
	union control c = { 0 };

	if (io.iov_len > CHANNEL_MSG_MAX || count > CHANNEL_FDS_MAX)
		return err_set(e, ERR_TOO_LARGE, CODE_MESSAGE_TOO_LARGE,
		    "a control message of %zu bytes and %zu descriptors is over the limit",
		    io.iov_len, count);
	if (count > 0) {
		struct cmsghdr *h;

		m.msg_control = c.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		h = CMSG_FIRSTHDR(&m);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * count);
	}
	if (sendmsg(sock, &m, MSG_NOSIGNAL) < 0) {
		if (errno == EPIPE || errno == ECONNRESET)
			return err_set(e, ERR_UNAVAILABLE, CODE_PEER_CLOSED,
			    "the other end has closed");
		return err_errno(e, "sendmsg");
	}
	return 0;
}

static void
gather_fds(struct msghdr *m, struct channel_fds *fds)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL;
	     h = CMSG_NXTHDR(m, h)) {
		size_t n;

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		if (n > CHANNEL_FDS_MAX - fds->count)
			n = CHANNEL_FDS_MAX - fds->count;
		memcpy(fds->fd + fds->count, CMSG_DATA(h), n * sizeof(int));
		fds->count += n;
	}
}

/*
 * Waits for a message and returns its length, at most CHANNEL_MSG_MAX; 0: the
 * other end has closed.
 */
static ssize_t
await_message(int sock)
{
	char none;
	ssize_t n = recv(sock, &none, 0, MSG_PEEK | MSG_TRUNC);

	return n < CHANNEL_MSG_MAX ? n : CHANNEL_MSG_MAX;
}

int
channel_recv(int sock, int64_t deadline_ms, json_t **msg,
    struct channel_fds *fds, struct err *e)
{
	auto_free char *text = NULL;
	struct iovec io = { 0 };
	union control c = { 0 };
	struct msghdr m = { .msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = c.bytes,
		.msg_controllen = sizeof(c.bytes) };
	struct pollfd p = { .fd = sock, .events = POLLIN };
	ssize_t n;

	fds->count = 0;
	do {
		n = poll(&p, 1, clock_left_ms(deadline_ms));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return err_errno(e, "poll");
	if (n == 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
		    "no answer before the deadline");
	n = await_message(sock);
	if (n > 0) {
		/* no more than the message needs: init keeps what it touches */
		io.iov_base = text = xmalloc((size_t)n);
		io.iov_len = (size_t)n;
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	}
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return err_set(e, ERR_UNAVAILABLE, CODE_PEER_CLOSED,
		    "the other end has closed");
	if (n < 0)
		return err_errno(e, "recvmsg");
	gather_fds(&m, fds);
	if ((m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
		channel_fds_close(fds);
		return err_set(e, ERR_TOO_LARGE, CODE_MESSAGE_TOO_LARGE,
		    "the other end sent a control message over the limit");
	}
	if (json_parse(text, (size_t)n, msg, e) < 0) {
		channel_fds_close(fds);
		return err_wrap(e, "control message");
	}
	return 0;
}

bool
channel_accept_must_pause(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOBUFS ||
	    error == ENOMEM;
}

void
channel_fds_close(struct channel_fds *fds)
{
	for (size_t i = 0; i < fds->count; i++)
		if (fds->fd[i] >= 0)
			close(fds->fd[i]);
	fds->count = 0;
}

int
channel_fds_take(struct channel_fds *fds, size_t i)
{
	return i < fds->count ? take_fd(&fds->fd[i]) : -1;
}
