/* stream.c: the pool `stream`: between nginx and wrappers for event streams. */
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
	BEAT_MS = 20000, /* a wrapper beats every 15 s, so ours are rare */
	FAREWELL_MS = 2000,
	PER_STREAM_FDS = 3, /* nginx, the wrapper, and for a moment a worker */
	OTHER_FDS = 64
};

struct pool {
	struct streams streams;
	struct stream_keys keys;
	const struct conf *conf;
	int listen_fd; /* -1: nothing new any more */
	size_t max;
	int64_t drain_at_ms; /* 0: not told to end */
	int64_t leave_at_ms; /* 0: the last words are not spoken */
};

/* A stream cannot even be refused without a descriptor. */
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

/* -1 when nothing can be heard of it. */
static int
listen_to(struct pool *p)
{
	int flags = fcntl(p->listen_fd, F_GETFL);

	if (flags < 0 || fcntl(p->listen_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	/* one process is woken for one connection */
	return poller_add(&p->streams.poller, p->listen_fd,
	    EPOLLIN | EPOLLEXCLUSIVE, NULL);
}

static void
take_connection(struct pool *p)
{
	int fd;

	if (p->listen_fd < 0)
		return;
	fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		stream_open(&p->streams, fd, p->streams.count >= p->max);
	} else if (channel_accept_must_pause(errno)) {
		log_line(LOG_ERROR, "accept", "%s", strerror(errno));
		/* not in a busy loop */
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}

/* Who has been silent for longest is first. */
static void
beat(struct pool *p)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&p->streams.all)) != NULL &&
	    clock_left_ms(s->spoke_ms + BEAT_MS) == 0)
		stream_beat(&p->streams, s);
}

static void
begin_drain(struct pool *p, int64_t drain_ms)
{
	/* other processes have it, too: closing alone does not silence it */
	poller_remove(&p->streams.poller, p->listen_fd);
	close(take_fd(&p->listen_fd));
	p->drain_at_ms = clock_ms() + drain_ms;
}

static void
say_farewell(struct pool *p)
{
	struct stream *s, *next;

	for (s = TAILQ_FIRST(&p->streams.all); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		stream_cut(&p->streams, s, CODE_OPERATION_INTERRUPTED,
		    "The service is being restarted, and this stream ends; the session lives on.");
	}
	p->leave_at_ms = clock_ms() + FAREWELL_MS;
}

static bool
may_leave(const struct pool *p)
{
	return p->drain_at_ms > 0 &&
	    (p->streams.count == 0 ||
		(p->leave_at_ms > 0 && clock_left_ms(p->leave_at_ms) == 0));
}

static int
wait_ms(const struct pool *p)
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
handle_events(struct pool *p, const struct epoll_event *ev, int count)
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
serve(struct pool *p, int64_t drain_ms)
{
	const volatile sig_atomic_t *stopping = child_signals();
	struct epoll_event ev[EVENTS];
	sigset_t open, closed;

	/* SIGTERM comes while we wait, and only then: none is missed */
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
		beat(p);
		stream_keys_ask(&p->keys, p->conf, &p->streams);
		stream_bury(&p->streams);
	}
}

int
stream_run(const struct conf *conf, int listen_fd)
{
	struct pool p = { .listen_fd = listen_fd,
		.keys = { .fd = -1 },
		.conf = conf,
		.max = most_streams(conf),
		.streams = { .run_dir = conf->run_dir } };

	p.streams.org_max = p.max > 1 ? p.max / 2 : 1;
	prctl(PR_SET_NAME, "sandlease-strm");
	signal(SIGCHLD, SIG_IGN); /* nobody waits for who asks about keys */
	TAILQ_INIT(&p.streams.all);
	TAILQ_INIT(&p.streams.ended);
	if (poller_open(&p.streams.poller) < 0 || listen_to(&p) < 0) {
		log_line(LOG_ERROR, "stream", "%s", strerror(errno));
		return EXIT_FAILURE;
	}
	serve(&p, conf->stream_drain_seconds * 1000);
	stream_drop(&p.streams);
	mem_close_fd(&p.keys.fd);
	poller_close(&p.streams.poller);
	return EXIT_SUCCESS;
}
