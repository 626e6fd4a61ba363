/* copy.c: a request from nginx to an app, and its response back. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/relay/internal.h"
#include "agent/relay/page.h"
#include "agent/run/activity.h"
#include "common/clock.h"

enum {
	CHUNK = 65536, /* one read, either way */
	HUNG_UP_MS = 30000
};

/*
 * The loop's thread only.  A connection has memory of its own for what its peer
 * has not taken; allocating for every read costs more than copying.
 */
static char chunk[CHUNK];
static struct buf rewritten;

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

/* The app may have answered before it had read everything. */
static void
stop_asking(struct conn *c)
{
	c->deaf = true;
	buf_free(&c->in);
	c->in_sent = 0;
}

/* -1: the client's end is broken. */
static int
read_request(struct conn *c)
{
	ssize_t n = recv(c->end[CLIENT].fd, chunk, sizeof(chunk), 0);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0) {
		c->asked_all = true;
		return 0;
	}
	if (!c->begun)
		begin_request(c, (size_t)n);
	note_activity(c);
	if (relay_conn_send(c->end[SERVER].fd, chunk, (size_t)n, &c->in) < 0)
		stop_asking(c);
	return 0;
}

/* From the client to the app, as it is: nginx has read it.  -1: broken. */
static int
copy_request(struct conn *c)
{
	int app = c->end[SERVER].fd;

	if (relay_conn_flush(app, &c->in, &c->in_sent) < 0)
		stop_asking(c);
	if (!c->asked_all && !c->deaf && c->in.len == 0 && read_request(c) < 0)
		return -1;
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
		relay_conn_finish(c);
		return;
	}
	relay_page_write(&c->out, c->port, c->asked.page, NULL);
	relay_conn_leave_app(c);
}

static void
take_reply(struct conn *c, size_t len)
{
	enum http_reply_verdict verdict;

	rewritten.len = 0;
	verdict = http_reply_take(&c->reply, chunk, len, &rewritten);
	if (verdict == HTTP_REPLY_REFUSED)
		refuse_reply(c);
	else if (relay_conn_send(c->end[CLIENT].fd, rewritten.data,
		     rewritten.len, &c->out) < 0)
		relay_conn_finish(c);
	else if (verdict == HTTP_REPLY_COMPLETE)
		relay_conn_leave_app(c);
}

/* From the app to the client.  False when there is nothing to read now. */
static bool
copy_reply(struct conn *c)
{
	ssize_t n;

	if (relay_conn_flush(c->end[CLIENT].fd, &c->out, &c->out_sent) < 0) {
		relay_conn_finish(c);
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
		relay_conn_leave_app(c);
	} else {
		relay_conn_finish(c); /* nginx sees that it was cut short */
	}
	return c->phase == COPYING;
}

void
relay_copy_rearm(struct conn *c)
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

void
relay_copy_step(struct conn *c, enum side at, uint32_t events)
{
	bool gone = (events & (EPOLLHUP | EPOLLERR)) != 0;

	if (gone && at == SERVER)
		hang_up(c);
	if ((gone && at == CLIENT) || copy_request(c) < 0) {
		relay_conn_finish(c);
		return;
	}
	while (copy_reply(c) && c->hung_up)
		;
	if (c->phase == COPYING)
		relay_copy_rearm(c);
}
