/* stream.c: runs a process of the pool `stream`. */
#include "api/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/child.h"
#include "api/stream/keys.h"
#include "api/stream/link.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum {
	EVENTS = 64,
	BEAT_MS = 20000,    /* wrappers send one every 15 s, so ours are rare */
	FAREWELL_MS = 2000, /* for clients to read the last event */
	PER_STREAM_FDS = 3, /* nginx, the wrapper, sometimes a worker */
	OTHER_FDS = 64
};

struct stream_pool {
	struct streams streams;
	struct stream_keys keys;
	const struct conf *conf;
	int listen_fd; /* -1: takes no new connections */
	size_t max;
	int64_t drain_at_ms; /* when streams are cut; 0: no SIGTERM yet */
	int64_t leave_at_ms; /* when the process ends; 0: streams are not cut */
};

/* The limit must leave descriptors free: even a refusal needs one. */
static size_t
most_streams(const struct conf *conf)
{
	size_t want = (size_t)conf->stream_connections, room;
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur == RLIM_INFINITY)
		return want;
	room = r.rlim_cur > OTHER_FDS + PER_STREAM_FDS
	    ? (size_t)(r.rlim_cur - OTHER_FDS) / PER_STREAM_FDS
	    : 1;
	return want < room ? want : room;
}

/* Adds the listening socket to the poller; -1: failed. */
static int
watch_listener(struct stream_pool *p)
{
	int flags = fcntl(p->listen_fd, F_GETFL);

	if (flags < 0 || fcntl(p->listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	/* EPOLLEXCLUSIVE: one connection wakes one process, not all */
	return poller_add(&p->streams.poller, p->listen_fd,
	    EPOLLIN | EPOLLEXCLUSIVE, NULL);
}

static void
take_connection(struct stream_pool *p)
{
	int fd;

	if (p->listen_fd < 0)
		return;
	fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		stream_open(&p->streams, fd, p->streams.count >= p->max);
	} else if (channel_accept_must_pause(errno)) {
		log_line(LOG_ERROR, "accept", "%s", strerror(errno));
		/* no descriptors: pause instead of a busy loop */
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

/* The list is sorted: the stream that is silent for longest is first. */
static void
beat_silent_streams(struct stream_pool *p)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&p->streams.all)) != NULL &&
	    clock_left_ms(s->spoke_ms + BEAT_MS) == 0)
		stream_beat(&p->streams, s);
}

static void
begin_drain(struct stream_pool *p, int64_t drain_ms)
{
	/* remove it first: other processes hold the socket, too, so close()
	 * alone would not end its events */
	poller_remove(&p->streams.poller, p->listen_fd);
	close(take_fd(&p->listen_fd));
	p->drain_at_ms = clock_ms() + drain_ms;
}

static void
say_farewell(struct stream_pool *p)
{
	struct stream *s, *next;

	for (s = TAILQ_FIRST(&p->streams.all); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		stream_cut(&p->streams, s, CODE_OPERATION_INTERRUPTED,
		    "The service is restarting, so this stream ends; the session keeps running.");
	}
	p->leave_at_ms = clock_ms() + FAREWELL_MS;
}

static bool
may_leave(const struct stream_pool *p)
{
	return p->drain_at_ms > 0 &&
	    (p->streams.count == 0 ||
		(p->leave_at_ms > 0 && clock_left_ms(p->leave_at_ms) == 0));
}

static int
wait_ms(const struct stream_pool *p)
{
	const struct stream *s = TAILQ_FIRST(&p->streams.all);
	int ms = s != NULL ? clock_left_ms(s->spoke_ms + BEAT_MS) : -1;
	int keys_ms = stream_keys_wait_ms(&p->keys, &p->streams);
	int64_t end = p->leave_at_ms > 0 ? p->leave_at_ms : p->drain_at_ms;

	if (keys_ms >= 0 && (ms < 0 || keys_ms < ms))
		ms = keys_ms;
	if (end > 0 && (ms < 0 || clock_left_ms(end) < ms))
		ms = clock_left_ms(end);
	return ms;
}

static void
handle_events(struct stream_pool *p, const struct epoll_event *ev, int count)
{
	for (int i = 0; i < count; i++) {
		if (ev[i].data.ptr == NULL)
			take_connection(p);
		else if (ev[i].data.ptr == &p->keys)
			stream_keys_answer(&p->keys, &p->streams);
		else
			stream_event(&p->streams, ev[i].data.ptr, ev[i].events);
	}
}

static void
serve_streams(struct stream_pool *p, int64_t drain_ms)
{
	const volatile sig_atomic_t *stopping = child_signals();
	struct epoll_event ev[EVENTS];
	sigset_t open, closed;

	/* SIGTERM is unblocked only in poller_wait(), so that none is missed */
	sigemptyset(&closed);
	sigaddset(&closed, SIGTERM);
	sigprocmask(SIG_BLOCK, &closed, &open);
	while (!may_leave(p)) {
		handle_events(p, ev,
		    poller_wait(&p->streams.poller, ev, EVENTS, wait_ms(p),
			&open));
		if (*stopping && p->drain_at_ms == 0)
			begin_drain(p, drain_ms);
		if (p->drain_at_ms > 0 && p->leave_at_ms == 0 &&
		    clock_left_ms(p->drain_at_ms) == 0)
			say_farewell(p);
		beat_silent_streams(p);
		stream_keys_ask(&p->keys, p->conf, &p->streams);
		stream_bury(&p->streams);
	}
}

int
stream_run(const struct conf *conf, int listen_fd)
{
	struct stream_pool p = { .listen_fd = listen_fd,
		.keys = { .fd = -1 },
		.conf = conf,
		.max = most_streams(conf),
		.streams = { .run_dir = conf->run_dir } };

	p.streams.org_max = p.max > 1 ? p.max / 2 : 1;
	prctl(PR_SET_NAME, "sandlease-strm");
	signal(SIGCHLD, SIG_IGN); /* the process of keys.c is not waited for */
	TAILQ_INIT(&p.streams.all);
	TAILQ_INIT(&p.streams.ended);
	if (poller_open(&p.streams.poller) < 0 || watch_listener(&p) < 0) {
		log_line(LOG_ERROR, "stream", "%s", strerror(errno));
		return EXIT_FAILURE;
	}
	serve_streams(&p, conf->stream_drain_seconds * 1000);
	stream_drop(&p.streams);
	mem_close_fd(&p.keys.fd);
	poller_close(&p.streams.poller);
	return EXIT_SUCCESS;
}
