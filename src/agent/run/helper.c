/* helper.c: runs another program that does a part of a call's work. */
#include "agent/run/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

enum { PIPE_BYTES = 1024 * 1024, SAID_MAX = 64 * 1024, PIECE = 4096 };

int
helper_wait(struct helper *w)
{
	return w->child.pid > 0 ? spawn_wait(&w->child) : 0;
}

void
helper_end(struct helper *w)
{
	if (w->child.pid > 0)
		kill(w->child.pid, SIGKILL);
	helper_wait(w);
	mem_close_fd(&w->in);
	mem_close_fd(&w->out);
	mem_close_fd(&w->err);
}

static int
make_pipe(int *reads, int *writes, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES);
	*reads = ends[0];
	*writes = ends[1];
	return 0;
}

int
helper_start(struct helper *w, const struct helper_plan *p, struct err *e)
{
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char home[] = "HOME=/home/user", lang[] = "LC_ALL=C.UTF-8";
	char *envp[] = { path, home, lang, NULL };
	auto_fd int in = -1;
	auto_fd int out = -1;
	auto_fd int err = -1;

	if ((p->in == HELPER_PIPE && make_pipe(&in, &w->in, e) < 0) ||
	    (p->out == HELPER_PIPE && make_pipe(&w->out, &out, e) < 0) ||
	    (p->err == HELPER_PIPE && make_pipe(&w->err, &err, e) < 0))
		return -1;
	return spawn_start(&(struct spawn){ .argv = p->argv,
			       .envp = envp,
			       .cwd = p->cwd,
			       .cwd_must = true,
			       .in = in >= 0 ? in : p->in,
			       .out = out >= 0 ? out : p->out,
			       .err = err >= 0 ? err : p->err },
	    &w->child, e);
}

ssize_t
helper_read(int fd, char *to, size_t max)
{
	size_t len = 0;

	while (len < max) {
		ssize_t n = read(fd, to + len, max - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* ---- waiting for a helper */

bool
helper_hear(int fd, struct buf *said)
{
	char piece[PIECE];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n > 0 && said->len + (size_t)n <= SAID_MAX)
		buf_add(said, piece, (size_t)n);
	return n > 0 || (n < 0 && errno == EINTR);
}

static int
explain_give_up(const struct helper_boss *b, bool gone, struct err *e)
{
	if (gone)
		return err_set(e, ERR_CONFLICT, CODE_CALL_LEFT,
		    "the client has disconnected");
	if (interrupt_told(b->job) != INTERRUPT_NOT)
		return err_set(e, ERR_CONFLICT, CODE_OPERATION_INTERRUPTED,
		    "the operation was interrupted");
	return err_set(e, ERR_INTERNAL, CODE_WORKER_LATE,
	    "the operation took too long");
}

int
helper_watch(struct helper *w, const struct helper_boss *b, int from,
    struct buf *said, int *status, struct err *e)
{
	enum { DONE, HEARD, GONE, TOLD, COUNT };
	struct pollfd p[COUNT] = {
		[DONE] = { w->child.pidfd, POLLIN, 0 },
		[HEARD] = { from, POLLIN, 0 },
		[GONE] = { call_fd(b->call), POLLRDHUP, 0 },
		[TOLD] = { b->job->wake, POLLIN, 0 },
	};

	for (;;) {
		int ms =
		    b->deadline_ms > 0 ? clock_left_ms(b->deadline_ms) : -1;
		int n = poll(p, COUNT, ms);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0 || p[GONE].revents != 0 || p[TOLD].revents != 0) {
			b->call->gone = p[GONE].revents != 0;
			explain_give_up(b, b->call->gone, e);
			helper_end(w);
			return -1;
		}
		/* read all output before the end is reported */
		if (p[HEARD].revents != 0) {
			if (!helper_hear(from, said))
				p[HEARD].fd = -1;
		} else if (p[DONE].revents != 0) {
			*status = helper_wait(w);
			return 0;
		}
	}
}
