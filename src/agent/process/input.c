/* input.c: writing to what a background process reads. */
#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	INPUT_MS = 30000, /* for a process that reads nothing, and for a turn */
	CLOSING_MS = 1000 /* between the end of what it reads and its own */
};

/* ---- turns */

static pthread_cond_t turn_over = PTHREAD_COND_INITIALIZER;

/* The writing end, ours until let_go(); -1 when it is closed. */
static int
take_end(struct process *p)
{
	int fd;

	pthread_mutex_lock(&process_lock);
	fd = p->input;
	p->input_busy = fd >= 0;
	pthread_mutex_unlock(&process_lock);
	return fd;
}

static void
let_go(struct process *p, bool end)
{
	pthread_mutex_lock(&process_lock);
	p->input_busy = false;
	if (end || p->rec.end.status != PROCESS_RUNNING)
		mem_close_fd(&p->input);
	p->input_taken = false;
	pthread_cond_broadcast(&turn_over);
	pthread_mutex_unlock(&process_lock);
}

static int
await_turn(struct process *p, struct err *e)
{
	int64_t end_ms = clock_ms() + INPUT_MS;
	struct timespec at = { .tv_sec = end_ms / 1000,
		.tv_nsec = end_ms % 1000 * 1000000 };
	bool mine;
	int rc = 0;

	pthread_mutex_lock(&process_lock);
	while (p->input_taken && rc == 0)
		rc = pthread_cond_clockwait(&turn_over, &process_lock,
		    CLOCK_MONOTONIC, &at);
	mine = !p->input_taken;
	p->input_taken = true;
	pthread_mutex_unlock(&process_lock);
	if (!mine)
		return err_set(e, ERR_BUSY, CODE_INPUT_FULL,
		    "another request is writing to process '%s'", p->rec.id);
	return 0;
}

static int
is_closed(const struct process *p, struct err *e)
{
	return err_set(e, ERR_CONFLICT, CODE_INPUT_CLOSED,
	    "the input of process '%s' is closed", p->rec.id);
}

int
process_input_open(struct process_input *in, struct process *p, int gone_fd,
    struct err *e)
{
	*in = (struct process_input){ .process = p,
		.gone_fd = gone_fd,
		.watch = { .fd = -1 } };
	if (process_now(p).status != PROCESS_RUNNING)
		return process_not_running(p, e);
	if (await_turn(p, e) < 0)
		return -1;
	in->fd = take_end(p);
	if (in->fd < 0) {
		let_go(p, false);
		return process_now(p).status != PROCESS_RUNNING
		    ? process_not_running(p, e)
		    : is_closed(p, e);
	}
	if (process_watch(p, &in->watch, e) < 0) {
		let_go(p, false);
		return -1;
	}
	return 0;
}

void
process_input_close(struct process_input *in, bool end)
{
	process_unwatch(in->process, &in->watch);
	let_go(in->process, end);
}

/* ---- writing */

int
process_input_check(struct process_input *in, struct err *e)
{
	struct pollfd f = { in->fd, POLLOUT, 0 };
	struct pollfd end = { in->watch.fd, POLLIN, 0 };
	bool closed;
	uint64_t seen;

	(void)!read(in->watch.fd, &seen, sizeof(seen));
	closed = poll(&f, 1, 0) == 1 && (f.revents & POLLERR) != 0;
	/* nobody can read any more: mostly because it ends just now */
	if (closed && process_now(in->process).status == PROCESS_RUNNING)
		(void)poll(&end, 1, CLOSING_MS);
	if (process_now(in->process).status != PROCESS_RUNNING)
		return process_not_running(in->process, e);
	return closed ? is_closed(in->process, e) : 0;
}

/* Until it takes more, -1 when it does not. */
static int
await_reader(struct process_input *in, int64_t end_ms, struct err *e)
{
	struct pollfd f[] = { { in->fd, POLLOUT, 0 },
		{ in->watch.fd, POLLIN, 0 }, { in->gone_fd, POLLRDHUP, 0 } };

	if (process_input_check(in, e) < 0)
		return -1;
	if (poll(f, ARRAY_LEN(f), clock_left_ms(end_ms)) == 0 ||
	    f[2].revents != 0)
		return err_set(e, ERR_BUSY, CODE_INPUT_FULL,
		    "process '%s' does not read its input",
		    in->process->rec.id);
	return 0;
}

int
process_input_write(struct process_input *in, const char *data, size_t len,
    struct err *e)
{
	int64_t end_ms = 0;

	while (len > 0) {
		ssize_t n = write(in->fd, data, len);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
			atomic_fetch_add(&in->written, n);
			end_ms = 0;
			continue;
		}
		if (end_ms == 0)
			end_ms = clock_ms() + INPUT_MS;
		if (await_reader(in, end_ms, e) < 0)
			return -1;
	}
	return 0;
}
