/* relay_copy.c: a request from nginx to an app, and its response back. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "agent/activity.h"
#include "agent/relay_internal.h"
#include "agent/relay_page.h"
#include "common/clock.h"

enum {
	CHUNK =
	    63 * 1024, /* one read, either way; with its frame below 64 KiB */
	HUNG_UP_MS = 30000
};

static char chunk[CHUNK]; /* the loop's thread only */

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
	if (relay_conn_flush(app, &c->in, &c->in_sent) < 0) {
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
		relay_conn_finish(c);
		return;
	}
	relay_page_write(&c->out, c->port, c->asked.for_program, NULL);
	relay_conn_leave_app(c);
}

static void
take_reply(struct conn *c, size_t len)
{
	/* one allocation for a chunk and its frame */
	buf_room(&c->out, len + 32);
	switch (http_reply_take(&c->reply, chunk, len, &c->out)) {
	case HTTP_REPLY_COMPLETE:
		relay_conn_leave_app(c);
		break;
	case HTTP_REPLY_REFUSED:
		refuse_reply(c);
		break;
	case HTTP_REPLY_MORE:
	case HTTP_REPLY_UPGRADED:
		if (relay_conn_flush(c->end[CLIENT].fd, &c->out, &c->out_sent) <
		    0)
			relay_conn_finish(c);
		break;
	}
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
