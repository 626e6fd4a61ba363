/* port_probe.c: checks whether a program answers on a port of the cell. */
#include "agent/relay/port_probe.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/loopback.h"
#include "common/clock.h"
#include "common/mem.h"

static void
set_answer(struct probe_answer *a, enum probe_state state, const char *why)
{
	a->state = state;
	snprintf(a->why, sizeof(a->why), "%s", why);
}

/* Returns 0 when fd is ready, or ETIMEDOUT. */
static int
wait_for(int fd, short events, int64_t deadline_ms)
{
	struct pollfd p = { fd, events, 0 };
	int n;

	do
		n = poll(&p, 1, clock_left_ms(deadline_ms));
	while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : ETIMEDOUT;
}

/* Connects to 127.0.0.1, else to ::1.  -1 with the errno of the last try. */
static int
connect_to(int port, int64_t deadline_ms)
{
	static const sa_family_t FAMILIES[] = { AF_INET, AF_INET6 };
	int error = ECONNREFUSED;

	for (size_t i = 0; i < ARRAY_LEN(FAMILIES); i++) {
		auto_fd int fd = loopback_connect(port, FAMILIES[i]);

		if (fd < 0)
			continue;
		error = wait_for(fd, POLLOUT, deadline_ms);
		if (error == 0)
			error = loopback_error(fd);
		if (error == 0)
			return take_fd(&fd);
	}
	errno = error;
	return -1;
}

/* ---- HTTP */

void
port_probe_request(struct buf *to, int port, const char *path)
{
	buf_str(to, path[0] == '/' ? "GET " : "GET /");
	for (; *path != '\0' && *path != '#'; path++) {
		unsigned char ch = (unsigned char)*path;

		if (ch > 0x20 && ch < 0x7f)
			buf_add(to, path, 1);
		else
			buf_fmt(to, "%%%02X", ch);
	}
	buf_fmt(to,
	    " HTTP/1.1\r\nHost: localhost:%d\r\nUser-Agent: sandlease\r\n"
	    "Accept: */*\r\nConnection: close\r\n\r\n",
	    port);
}

/* The status of "HTTP/1.1 200 ...\n"; 0: no whole line, -1: not HTTP/1. */
static int
status_of_line(const char *line, size_t len)
{
	static const char NAME[] = "HTTP/1.";
	enum { NAME_LEN = sizeof(NAME) - 1, DIGITS = NAME_LEN + 2 };
	int status = 0;

	if (memcmp(line, NAME, len < NAME_LEN ? len : NAME_LEN) != 0)
		return -1;
	if (memchr(line, '\n', len) == NULL)
		return 0;
	if (len < DIGITS + 3 || line[DIGITS - 1] != ' ')
		return -1;
	for (int i = DIGITS; i < DIGITS + 3; i++) {
		if (!isdigit((unsigned char)line[i]))
			return -1;
		status = status * 10 + line[i] - '0';
	}
	return status;
}

int
port_probe_status(const char *head, size_t len)
{
	int status = status_of_line(head, len);

	/* after 1xx comes another head, but not after 101 */
	while (status >= 100 && status < 200 && status != 101) {
		const char *end = memmem(head, len, "\r\n\r\n", 4);

		if (end == NULL)
			return 0;
		len -= (size_t)(end + 4 - head);
		head = end + 4;
		status = status_of_line(head, len);
	}
	return status;
}

/* Returns the status, or -1 and the reason in *why. */
static int
read_status(int fd, int64_t deadline_ms, const char **why)
{
	char head[PROBE_HEAD_MAX];
	size_t len = 0;

	while (len < sizeof(head)) {
		int status = port_probe_status(head, len);
		ssize_t n;

		*why = "the answer is not HTTP";
		if (status != 0)
			return status;
		*why = "timed out";
		if (wait_for(fd, POLLIN, deadline_ms) != 0)
			return -1;
		*why = "the connection was closed without an answer";
		n = recv(fd, head + len, sizeof(head) - len, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return -1;
		len += n > 0 ? (size_t)n : 0;
	}
	*why = "the answer's head is too long";
	return -1;
}

static void
ask_http(int fd, const struct port_probe *p, int64_t deadline_ms,
    struct probe_answer *a)
{
	auto_buf struct buf request = { 0 };
	const char *why = NULL;
	int status;

	port_probe_request(&request, p->port, p->path);
	/* one send() is enough: the socket's buffer is empty */
	if (send(fd, request.data, request.len, MSG_NOSIGNAL) !=
	    (ssize_t)request.len) {
		set_answer(a, PROBE_UNREADY, "the request could not be sent");
		return;
	}
	status = read_status(fd, deadline_ms, &why);
	if (status < 0) {
		set_answer(a, PROBE_UNREADY, why);
		return;
	}
	a->status = status;
	a->state = status >= p->status_min && status <= p->status_max
	    ? PROBE_READY
	    : PROBE_UNREADY;
	if (a->state != PROBE_READY)
		snprintf(a->why, sizeof(a->why),
		    "HTTP status %d is not within %d to %d", status,
		    p->status_min, p->status_max);
}

void
port_probe(const struct port_probe *p, struct probe_answer *out)
{
	int64_t deadline_ms = clock_ms() + PROBE_MS;
	auto_fd int fd = connect_to(p->port, deadline_ms);

	*out = (struct probe_answer){ .state = PROBE_READY };
	if (fd < 0)
		set_answer(out,
		    errno == ETIMEDOUT ? PROBE_UNREADY : PROBE_CLOSED,
		    errno == ETIMEDOUT ? "timed out" : "connection refused");
	else if (p->http)
		ask_http(fd, p, deadline_ms, out);
}
