/* link.c: links one connection of nginx with one of a wrapper. */
#include "api/stream/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/stream/events.h"
#include "api/stream/ws.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum { CHUNK = 65536 };

static char chunk[CHUNK]; /* shared by all streams: there is one thread */

/* ---- both sides */

static uint32_t
wanted_of_nginx(const struct stream *s)
{
	bool may_read = s->state != STREAM_OPEN ||
	    (!stream_pending(&s->wrapper) &&
		(s->gate == NULL || stream_ws_may_read(s)));

	return EPOLLRDHUP | (may_read ? EPOLLIN : 0U) |
	    (stream_pending(&s->nginx) ? EPOLLOUT : 0U);
}

static uint32_t
wanted_of_wrapper(const struct stream *s)
{
	return (stream_pending(&s->nginx) ? 0U : EPOLLIN) |
	    (stream_pending(&s->wrapper) ? EPOLLOUT : 0U);
}

static uint32_t
wanted_of_worker(const struct stream *s)
{
	return EPOLLIN | (stream_pending(&s->worker) ? EPOLLOUT : 0U);
}

/* After each event: writes pending bytes, then sets what the poller awaits. */
static void
flush_and_arm(struct streams *all, struct stream *s)
{
	if (s->wrapper.fd >= 0 && stream_flush(&s->wrapper) < 0) {
		s->deaf = true; /* the wrapper's earlier output is still read */
		stream_forget_pending(&s->wrapper);
	}
	/* if the worker has closed, reading from it will show that */
	if (s->worker.fd >= 0 && stream_flush(&s->worker) < 0)
		stream_forget_pending(&s->worker);
	if (stream_flush(&s->nginx) < 0) {
		stream_end(all, s);
		return;
	}
	if (s->gate != NULL && s->state == STREAM_OPEN)
		stream_ws_resume(all, s);
	/* only shutdown(): nginx may still send, and a close() would reset the
	 * connection before nginx has read the answer */
	if (s->state == STREAM_OVER && !stream_pending(&s->nginx) && !s->shut)
		s->shut = shutdown(s->nginx.fd, SHUT_WR) == 0;
	if (stream_arm(all, &s->nginx, wanted_of_nginx(s)) < 0 ||
	    (s->wrapper.fd >= 0 &&
		stream_arm(all, &s->wrapper, wanted_of_wrapper(s)) < 0) ||
	    (s->worker.fd >= 0 &&
		stream_arm(all, &s->worker, wanted_of_worker(s)) < 0))
		stream_end(all, s);
}

/* ---- the answer */

static void
end_with_message(struct streams *all, struct stream *s, enum err_code code,
    const char *message)
{
	char session[ID_MAX];

	if (s->gate == NULL && !answer_streams(&s->answer)) {
		stream_over(all, s);
		return;
	}
	snprintf(session, sizeof(session), "%.*s", STREAM_SESSION_LEN,
	    strrchr(s->target, '/') + 1);
	log_context(s->request_id, session);
	log_line(LOG_INFO, "stream_cut", "%s", message);
	log_context("", "");
	if (s->gate != NULL)
		stream_ws_leave(all, s);
	else
		stream_events_leave(all, s, code, message);
}

static void
lose_wrapper(struct streams *all, struct stream *s)
{
	end_with_message(all, s, CODE_SESSION_TERMINATED,
	    "The session's agent has ended, and this stream with it.");
}

static void
read_wrapper(struct streams *all, struct stream *s)
{
	ssize_t n = read(s->wrapper.fd, chunk, sizeof(chunk));

	if (n > 0 && s->gate != NULL) {
		stream_ws_from_wrapper(all, s, chunk, (size_t)n);
	} else if (n > 0) {
		if (!stream_events_from_wrapper(all, s, chunk, (size_t)n))
			lose_wrapper(all, s);
	} else if (s->gate != NULL && (n == 0 || errno == ECONNRESET)) {
		stream_over(all, s); /* the wrapper sends the close frame */
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		lose_wrapper(all, s);
	}
}

/* ---- the request */

/* FastCGI begins with its version, the request of a WebSocket with "GET". */
static bool
speaks_http(struct stream *s)
{
	if (s->state == STREAM_HEAD && s->request.have == 0 &&
	    s->params.len == 0 && s->gate == NULL && chunk[0] == 'G')
		s->gate = xcalloc(1, sizeof(*s->gate));
	return s->gate != NULL;
}

static void
read_nginx(struct streams *all, struct stream *s)
{
	ssize_t n = read(s->nginx.fd, chunk, sizeof(chunk));

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			stream_end(all, s);
		return;
	}
	if (speaks_http(s))
		stream_ws_from_nginx(all, s, chunk, (size_t)n);
	else if (!stream_events_from_nginx(all, s, chunk, (size_t)n))
		stream_end(all, s);
}

/* ---- from outside */

void
stream_open(struct streams *all, int fd, bool busy)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->nginx = (struct stream_side){ .of = s, .fd = fd };
	s->wrapper = (struct stream_side){ .of = s, .fd = -1 };
	s->worker = (struct stream_side){ .of = s, .fd = -1 };
	s->busy = busy;
	s->spoke_ms = clock_ms();
	TAILQ_INSERT_TAIL(&all->all, s, link);
	all->count++;
	flush_and_arm(all, s);
}

void
stream_event(struct streams *all, struct stream_side *side, uint32_t events)
{
	struct stream *s = side->of;
	bool hangup = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;

	if (side->fd < 0)
		return; /* closed by an earlier event of this round */
	if (side == &s->nginx) {
		if (hangup) {
			stream_end(all, s);
			return;
		}
		if ((events & EPOLLIN) != 0)
			read_nginx(all, s);
	} else if (side == &s->worker) {
		if (hangup || (events & EPOLLIN) != 0)
			stream_ws_from_worker(all, s);
	} else if ((hangup || (events & EPOLLIN) != 0) &&
	    (side->armed & EPOLLIN) != 0) {
		read_wrapper(all, s);
	}
	if (s->state == STREAM_ENDED)
		return;
	if (s->gate != NULL)
		stream_ws_check_clock(all, s);
	flush_and_arm(all, s);
}

void
stream_beat(struct streams *all, struct stream *s)
{
	stream_spoke(all, s);
	if (s->state == STREAM_HEAD) {
		stream_end(all, s);
		return;
	}
	if (s->gate != NULL)
		stream_ws_check_clock(all, s);
	else if (s->state != STREAM_OPEN || stream_pending(&s->nginx) ||
	    !answer_between_events(&s->answer))
		return;
	/* the socket's file is gone: the session has ended, even if a process
	 * of the sandbox still holds the connection */
	if (s->state == STREAM_OPEN && access(s->target, F_OK) < 0 &&
	    errno == ENOENT)
		lose_wrapper(all, s);
	else if (s->gate == NULL)
		stream_events_beat(all, s);
	flush_and_arm(all, s);
}

void
stream_cut(struct streams *all, struct stream *s, enum err_code code,
    const char *message)
{
	if (s->state == STREAM_OPEN)
		end_with_message(all, s, code, message);
	else if (s->state == STREAM_HEAD && s->gate != NULL)
		stream_over(all, s);
	else if (s->state == STREAM_HEAD)
		stream_events_unsent(all, s);
	flush_and_arm(all, s);
}

void
stream_drop(struct streams *all)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&all->all)) != NULL)
		stream_end(all, s);
	stream_bury(all);
}

void
stream_bury(struct streams *all)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&all->ended)) != NULL) {
		TAILQ_REMOVE(&all->ended, s, link);
		buf_free(&s->params);
		if (s->gate != NULL)
			ws_gate_free(s->gate);
		free(s);
	}
}
