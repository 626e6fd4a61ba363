/* copy.c: copies a request from nginx to an app, and the response back. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/relay/internal.h"
#include "agent/relay/page.h"
#include "agent/run/activity.h"
#include "common/clock.h"

enum { HUNG_UP_MS = 30000 };

/*
 * As loop_chunk(), shared by all connections: used by the loop's thread only.
 * A connection allocates memory only for bytes that its peer did not take,
 * because an allocation for every read costs more than copying the rest.
 */
static struct buf rewritten;

int
relay_copy_flush(int fd, struct buf *b, size_t *sent)
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

/*
 * Writes as much as fd takes now, and keeps the rest in `rest`, which must be
 * empty.  -1: fd is broken.
 */
static int
send_or_keep(int fd, const char *data, size_t len, struct buf *rest)
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

static void
note_activity(const struct relay_conn *c)
{
	if (!c->asked.probe)
		activity_relayed();
}

/*
 * Drops the rest of the request: the app takes no more.  The connection goes on,
 * because the app may have sent its response before it had read everything.
 */
static void
drop_request(struct relay_conn *c)
{
	c->deaf = true;
	buf_free(&c->in);
	c->in_sent = 0;
}

/* -1: the client's end is broken. */
static int
read_request(struct relay_conn *c)
{
	char *chunk = loop_chunk();
	ssize_t n = recv(c->end[CLIENT].fd, chunk, LOOP_CHUNK, 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0) {
		c->asked_all = true;
		return 0;
	}
	if (!c->begun) {
		c->begun = true;
		c->asked = relay_request_read(chunk, (size_t)n);
		http_reply_begin(&c->reply,
		    (struct http_reply_to){ .head = c->asked.head,
			.upgrade = c->asked.upgrade });
	}
	note_activity(c);
	if (send_or_keep(c->end[SERVER].fd, chunk, (size_t)n, &c->in) < 0)
		drop_request(c);
	return 0;
}

/*
 * Copies from the client to the app, unchanged: nginx has parsed the request.
 * -1: the client's end is broken.
 */
static int
copy_request(struct relay_conn *c)
{
	int app = c->end[SERVER].fd;

	if (relay_copy_flush(app, &c->in, &c->in_sent) < 0)
		drop_request(c);
	if (!c->asked_all && !c->deaf && c->in.len == 0 && read_request(c) < 0)
		return -1;
	if (c->asked_all && !c->told_all && c->in.len == 0) {
		c->told_all = true;
		shutdown(app, SHUT_WR);
	}
	return 0;
}

/* Turns the app's bytes into the response that the client gets. */
static enum relay_next
send_reply(struct relay_conn *c, const char *chunk, size_t len)
{
	enum http_reply_verdict verdict;

	rewritten.len = 0;
	verdict = http_reply_take(&c->reply, chunk, len, &rewritten);
	if (verdict == HTTP_REPLY_REFUSED) {
		/* the client has part of the reply: too late for an error page */
		if (c->reply.started)
			return RELAY_BROKEN;
		relay_page_write(&c->out, c->port, c->asked.page, NULL);
		return RELAY_ANSWERED;
	}
	if (send_or_keep(c->end[CLIENT].fd, rewritten.data, rewritten.len,
		&c->out) < 0)
		return RELAY_BROKEN;
	return verdict == HTTP_REPLY_COMPLETE ? RELAY_ANSWERED : RELAY_COPIES;
}

/* Copies from the app to the client.  *read_some: there may be more to read. */
static enum relay_next
copy_reply(struct relay_conn *c, bool *read_some)
{
	char *chunk = loop_chunk();
	ssize_t n;

	*read_some = false;
	if (relay_copy_flush(c->end[CLIENT].fd, &c->out, &c->out_sent) < 0)
		return RELAY_BROKEN;
	/* the request decides how the reply is parsed, so it must be there */
	if (c->out.len > 0 || !c->begun)
		return RELAY_COPIES;
	n = recv(c->end[SERVER].fd, chunk, LOOP_CHUNK, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return RELAY_COPIES;
	if (n > 0) {
		*read_some = true;
		note_activity(c);
		return send_reply(c, chunk, (size_t)n);
	}
	if (n == 0 &&
	    http_reply_close(&c->reply, &c->out) == HTTP_REPLY_COMPLETE)
		return RELAY_ANSWERED;
	return RELAY_BROKEN; /* closing tells nginx that the reply is incomplete */
}

void
relay_copy_rearm(struct relay_conn *c)
{
	struct relay_end *client = &c->end[CLIENT], *app = &c->end[SERVER];
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

enum relay_next
relay_copy_step(struct relay_conn *c, enum side at, uint32_t events)
{
	bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;
	enum relay_next next;
	bool read_some;

	/*
	 * epoll would report the app's hang-up in an endless loop, so its end
	 * is taken out of epoll.  The rest of its reply is read when the client
	 * has room, for HUNG_UP_MS at most.
	 */
	if (gone && at == SERVER && !c->hung_up) {
		c->hung_up = true;
		loop_forget(c->end[SERVER].fd);
		c->deadline_ms = clock_ms() + HUNG_UP_MS;
	}
	if ((gone && at == CLIENT) || copy_request(c) < 0)
		return RELAY_BROKEN;
	do
		next = copy_reply(c, &read_some);
	while (next == RELAY_COPIES && read_some && c->hung_up);
	if (next == RELAY_COPIES)
		relay_copy_rearm(c);
	return next;
}
