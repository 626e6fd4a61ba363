/* callers.c: workers, which ask that a session's network follow its row. */
#include <stdlib.h>
#include <sys/socket.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/process.h"

enum { CALLER_MS = 5000 }; /* for a worker to say what it wants */

/* A worker that has connected and has not asked yet. */
struct caller {
	struct loop_watch watch; /* first: cast in its callback */
	struct loop_timer timer;
	struct rows_process *of;
	int fd; /* owned */
};

static void
caller_release(void *owner)
{
	free(owner);
}

static void
caller_end(struct caller *c)
{
	loop_forget(&c->of->loop, &c->watch);
	loop_clear(&c->of->loop, &c->timer);
	mem_close_fd(&c->fd);
	loop_bury(&c->of->loop, c, caller_release);
}

static void
on_caller_time(struct loop_timer *t)
{
	caller_end((struct caller *)(void *)((char *)t -
	    offsetof(struct caller, timer)));
}

static void
on_caller(struct loop_watch *w, uint32_t events)
{
	struct caller *c = (struct caller *)(void *)w;
	auto_json json_t *msg = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct err e = { 0 };

	(void)events;
	if (channel_recv(c->fd, clock_ms(), &msg, &fds, &e) == 0 &&
	    str_equal(json_str(msg, "op"), "attach") &&
	    follow(c->of, json_str(msg, "session"), c->fd, &e) < 0) {
		follow_answer(c->fd, false, e.msg);
		follow_failed(c->of, json_str(msg, "session"), &e);
	}
	caller_end(c);
}

void
callers_accept(struct rows_process *p)
{
	int fd = accept4(p->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct caller *c;

	if (fd < 0)
		return;
	c = xcalloc(1, sizeof(*c));
	*c = (struct caller){ .watch = { .ready = on_caller, .fd = -1 },
		.timer = { .fire = on_caller_time },
		.of = p,
		.fd = fd };
	loop_set(&p->loop, &c->timer, clock_ms() + CALLER_MS);
	if (loop_watch(&p->loop, &c->watch, fd, EPOLLIN) < 0)
		caller_end(c);
}
