/* input.c: writes to the input pipe of a background process. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	INPUT_MS = 30000, /* wait for a turn, and for a process to read */
	CLOSING_MS = 1000 /* wait for the exit after the pipe was closed */
};

/* ---- turns */

static void
end_turn(struct process *p, bool end)
{
	child_lock(&process_table);
	if (end || p->entry.ended)
		mem_close_fd(&p->input);
	child_give_turn(&p->entry);
	child_unlock(&process_table);
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
	bool mine;

	*in = (struct process_input){ .process = p,
		.gone_fd = gone_fd,
		.watch = { .fd = -1 } };
	child_lock(&process_table);
	mine = child_take_turn(&p->entry, INPUT_MS);
	in->fd = p->input; /* stays open until end_turn() */
	child_unlock(&process_table);
	if (!mine)
		return !child_lives(&p->entry)
		    ? process_not_running(p, e)
		    : err_set(e, ERR_BUSY, CODE_INPUT_FULL,
			  "another request is writing to process '%s'",
			  p->rec.id);
	if (in->fd < 0) {
		end_turn(p, false);
		return is_closed(p, e);
	}
	if (process_watch(p, &in->watch, e) < 0) {
		end_turn(p, false);
		return -1;
	}
	return 0;
}

void
process_input_close(struct process_input *in, bool end)
{
	process_unwatch(in->process, &in->watch);
	end_turn(in->process, end);
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
	/* no process has the reading end: usually the process is exiting */
	if (closed && child_lives(&in->process->entry))
		(void)poll(&end, 1, CLOSING_MS);
	if (!child_lives(&in->process->entry))
		return process_not_running(in->process, e);
	return closed ? is_closed(in->process, e) : 0;
}

/* Waits until the process reads more; -1 when it does not. */
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
