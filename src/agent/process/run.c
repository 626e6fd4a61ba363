/*
 * run.c: reads the output of background processes and notes their end.
 *
 * Everything except process_prepare() and end_overdue() runs in the loop's
 * thread.  No other thread appends to a log.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/base/serve.h"
#include "agent/process/internal.h"
#include "agent/process/process.h"
#include "agent/run/activity.h"
#include "common/mem.h"

enum {
	CHUNKS_AT_ONCE = 4,     /* then the other processes have a turn */
	REST_MAX = 1024 * 1024, /* the largest size of a pipe */
	LINGER_MAX = 256        /* ended processes with an open pipe */
};

/* for the loop's thread only */
static size_t lingering;

/* ---- in the loop: output */

static bool
is_open(const struct process *p)
{
	return p->out[0].in.fd >= 0 || p->out[1].in.fd >= 0;
}

static void
append_output(struct process_pipe *q, const char *chunk, size_t len)
{
	struct process *p = process_of(q->in.entry);

	ring_append(&p->log, q->which, chunk, len);
	if (p->entry.counted)
		activity_touch();
	child_lock(&process_table);
	child_wake(&p->entry);
	child_unlock(&process_table);
}

/* Reads once; false when there is nothing more for now. */
static bool
read_pipe(struct process_pipe *q, bool wanted)
{
	char *chunk = loop_chunk();
	ssize_t n = read(q->in.fd, chunk, LOOP_CHUNK);

	if (n > 0) {
		if (wanted)
			append_output(q, chunk, (size_t)n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		child_close_item(&q->in);
	return false;
}

static void
output_ready(struct loop_item *item, uint32_t events)
{
	struct process_pipe *q = (struct process_pipe *)item;
	struct process *p = process_of(q->in.entry);
	bool reaped = child_is_reaped(&p->entry);

	(void)events;
	if (q->in.fd < 0)
		return;
	for (int i = 0; i < CHUNKS_AT_ONCE && read_pipe(q, !reaped); i++)
		;
	if (reaped && !is_open(p)) {
		lingering--;
		child_let_go(&p->entry);
	}
}

/*
 * Reads the bytes that the process wrote before its end.  The limit is needed
 * because children of the process may go on writing for ever.
 */
static void
read_rest(struct process_pipe *q)
{
	size_t left = REST_MAX / LOOP_CHUNK;

	while (q->in.fd >= 0 && left-- > 0 && read_pipe(q, true))
		;
}

/* ---- in the loop: the end */

static enum process_status
status_of(const struct process *p, int exit_code)
{
	if (p->entry.ending || exit_code == 128 + SIGKILL ||
	    exit_code == 128 + SIGTERM)
		return PROCESS_KILLED;
	return exit_code == 0 ? PROCESS_COMPLETED : PROCESS_FAILED;
}

/*
 * Lets the loop read and discard what children of an ended process still write,
 * so that they neither block nor die of SIGPIPE.  Above LINGER_MAX the pipes
 * are closed.
 */
static void
linger(struct process *p)
{
	if (is_open(p) && lingering < LINGER_MAX) {
		lingering++;
		return;
	}
	child_close_item(&p->out[0].in);
	child_close_item(&p->out[1].in);
	child_let_go(&p->entry);
}

static void
note_end(struct child_entry *c)
{
	struct process *p = process_of(c);
	struct process_record rec = p->rec;

	child_close_item(&p->timer);
	rec.end.exit_code = spawn_wait(&c->child);
	read_rest(&p->out[0]);
	read_rest(&p->out[1]);
	rec.end.status = status_of(p, rec.end.exit_code);
	rec.end.timed_out = p->out_of_time;
	clock_iso(rec.end.at);
	/*
	 * Before other threads can see the end: they may then remove the
	 * record, and a later write would bring it back.
	 */
	process_store_write(&rec);
	if (c->counted)
		activity_end(ACTIVITY_RUNNING);
	child_lock(&process_table);
	p->ended_ms = clock_ms();
	p->log_bytes = process_store_bytes(rec.id);
	process_ended(p, &rec.end);
	child_unlock(&process_table);
	linger(p);
}

/* ---- the deadline */

static void *
end_overdue(void *entry)
{
	struct child_entry *c = entry;

	(void)child_end_all(&c, 1);
	child_release(c);
	return NULL;
}

static void
deadline_ready(struct loop_item *item, uint32_t events)
{
	struct child_entry *c = ((struct child_item *)item)->entry;
	struct process *p = process_of(c);

	(void)events;
	if (p->timer.fd < 0)
		return;
	child_close_item(&p->timer);
	p->out_of_time = true;
	/* a thread waits for the grace period; the loop must not block */
	child_lock(&process_table);
	c->refs++;
	child_unlock(&process_table);
	if (serve_thread(end_overdue, c) < 0) {
		proctree_signal(c->child.pid, NULL, SIGKILL);
		kill(c->child.pid, SIGKILL);
		child_release(c);
	}
}

/* ---- the beginning */

void
process_prepare(struct process *p)
{
	child_prepare(&p->entry, note_end);
	child_add_item(&p->entry, &p->out[0].in, output_ready);
	child_add_item(&p->entry, &p->out[1].in, output_ready);
	child_add_item(&p->entry, &p->timer, deadline_ready);
	p->out[1].which = RING_STDERR;
}
