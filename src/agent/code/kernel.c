/* kernel.c: runs a cell in the process behind a code context. */
#include "agent/code/kernel.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/base/tree_end.h"
#include "agent/code/kernel_talk.h"
#include "common/clock.h"
#include "common/mem.h"

enum { GRACE_MS = 2000 }; /* for an interrupted kernel to end the cell */

bool
kernel_lives(const struct kernel *k)
{
	struct pollfd f = { k->child.pidfd, POLLIN, 0 };

	return k->child.pid > 0 && poll(&f, 1, 0) == 0;
}

/* ---- between cells */

/* Takes the output pipes back from the drain, which reads between cells. */
static void
reclaim_output(struct kernel *k)
{
	for (int i = 0; i < 2; i++) {
		drain_return(k->idle[i]);
		k->idle[i] = NULL;
	}
}

int
kernel_bury(struct kernel *k)
{
	int exit_code = spawn_wait(&k->child);

	reclaim_output(k);
	mem_close_fd(&k->channel);
	for (int i = 0; i < 2; i++)
		if (k->out[i] >= 0)
			/* processes that survive the kernel may still write */
			drain_adopt(take_fd(&k->out[i]));
	return exit_code;
}

void
kernel_end(struct kernel *k)
{
	struct tree_end t = { .root = k->child.pid, .pidfd = k->child.pidfd };

	if (k->child.pid <= 0)
		return;
	tree_end_all(&t, 1);
	(void)kernel_bury(k);
}

/* ---- a cell */

struct cell_run {
	struct kernel *kernel;
	const struct kernel_cell *cell;
	struct pump pump;
	struct kernel_talk talk;
	struct proc_moment began;
};

static bool
read_lines(void *ctx, const char *data, size_t len)
{
	struct cell_run *r = ctx;

	return kernel_talk_read(&r->talk, data, len);
}

/* Sends output written before the result first, then holds output back. */
static void
begin_result(void *ctx)
{
	struct cell_run *r = ctx;

	pump_catch_up(&r->pump);
	r->pump.hold = true;
}

static void
pass_result(void *ctx, const char *piece, size_t len, bool last)
{
	struct cell_run *r = ctx;

	r->cell->result(r->cell->ctx, piece, len, last);
	r->pump.hold = !last;
	if (last)
		(void)!send(r->kernel->channel, "\n", 1, MSG_NOSIGNAL);
}

static void
write_request(const struct cell_run *r, struct buf *to)
{
	auto_json json_t *request = json_pack("{s:I, s:s}", "seq",
	    (json_int_t)r->kernel->seq, "code", r->cell->code);
	auto_free char *text = NULL;

	if (r->cell->env != NULL)
		json_object_set(request, "env",
		    (json_t *)(uintptr_t)r->cell->env);
	text = json_text(request);
	buf_str(to, text);
	buf_str(to, "\n");
}

static void
set_up_pump(struct cell_run *r, const struct buf *request)
{
	const struct kernel_cell *c = r->cell;
	struct kernel *k = r->kernel;

	r->talk = (struct kernel_talk){ .seq = k->seq,
		.begin = begin_result,
		.result = pass_result,
		.ctx = r };
	r->pump = (struct pump){
		.out = { k->out[0], k->out[1] },
		.opened = { true, true },
		.status_fd = k->channel,
		.status_must = true,
		.script_fd = k->channel,
		.script = request->data,
		.script_len = request->len,
		.pidfd = k->child.pidfd,
		.wake_fd = c->job->wake,
		.client_fd = c->job->name.client,
		.deadline_ms = c->deadline_ms,
		.quiet_ms = c->quiet_ms,
		.output = c->output,
		.quiet = c->quiet,
		.status = read_lines,
		.output_ctx = c->ctx,
		.status_ctx = r,
	};
}

/* Sends SIGINT to the kernel and the cell's processes, not to older ones. */
static void
send_interrupt(struct cell_run *r)
{
	auto_tree struct proctree older = { 0 };
	pid_t pid = r->kernel->child.pid;

	proctree_older(pid, r->began, &older);
	kill(pid, SIGINT);
	(void)proctree_signal(pid, &older, SIGINT);
}

/* Interrupts the cell.  False: the kernel did not end it and must be killed. */
static bool
stop_cell(struct cell_run *r, const struct kernel_outcome *out)
{
	enum pump_end how = PUMP_TIMEOUT;

	r->pump.wake_fd = -1;
	r->pump.client_fd = 0;
	if (out->how == KERNEL_DESTROYED)
		return false;
	/* twice: a kernel that has just begun the cell ignores the first */
	for (int i = 0; i < 2 && how == PUMP_TIMEOUT; i++) {
		send_interrupt(r);
		r->pump.deadline_ms = clock_ms() + GRACE_MS / 2;
		how = pump_run(&r->pump);
	}
	return how == PUMP_TOLD;
}

static void
await_cell(struct cell_run *r, struct kernel_outcome *out)
{
	switch (pump_run(&r->pump)) {
	case PUMP_TOLD:
		out->how = r->talk.word == KERNEL_WORD_DONE ? KERNEL_DONE
							    : KERNEL_FAILED;
		return;
	case PUMP_TIMEOUT:
		out->how = KERNEL_TIMED_OUT;
		break;
	case PUMP_WOKEN:
		out->how = interrupt_told(r->cell->job) == INTERRUPT_DESTROYED
		    ? KERNEL_DESTROYED
		    : KERNEL_INTERRUPTED;
		break;
	case PUMP_EXITED:
	default:
		out->how = KERNEL_DIED;
		out->lost = true;
		return;
	}
	out->lost = !stop_cell(r, out);
}

static void
end_cell(struct cell_run *r, struct kernel_outcome *out)
{
	struct kernel *k = r->kernel;

	if (r->talk.word == KERNEL_WORD_ERROR && !out->lost) {
		out->error = r->talk.text;
		r->talk.text = (struct buf){ 0 };
	}
	kernel_talk_close(&r->talk);
	if (out->lost) {
		(void)proctree_kill(k->child.pid, NULL);
		pump_drain(&r->pump);
	} else {
		pump_catch_up(&r->pump);
	}
	k->out[0] = r->pump.out[0];
	k->out[1] = r->pump.out[1];
	interrupt_root(r->cell->job, 0);
	if (out->lost) {
		out->exit_code = kernel_bury(k);
		return;
	}
	/* a background process that writes between cells must not block */
	for (int i = 0; i < 2; i++)
		if (k->out[i] >= 0)
			k->idle[i] = drain_lend(k->out[i]);
}

void
kernel_run(struct kernel *k, const struct kernel_cell *cell,
    struct kernel_outcome *out)
{
	auto_buf struct buf request = { 0 };
	struct cell_run r = { .kernel = k,
		.cell = cell,
		.began = proctree_now() };

	*out = (struct kernel_outcome){ 0 };
	k->seq++;
	write_request(&r, &request);
	reclaim_output(k);
	set_up_pump(&r, &request);
	interrupt_root(cell->job, k->child.pid);
	await_cell(&r, out);
	end_cell(&r, out);
}
