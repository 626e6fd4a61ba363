/*
 * run.c: the life of a background process, as the loop sees it.
 *
 * All but process_prepare() and end_late() runs in the loop's thread, which
 * alone appends to the log.
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
	CHUNK = 64 * 1024,
	CHUNKS_AT_ONCE = 4,     /* a loud one must not starve the others */
	REST_MAX = 1024 * 1024, /* a pipe can hold that much, and no more */
	LINGER_MAX = 256        /* that have ended and not let go of a pipe */
};

static char chunk[CHUNK]; /* the loop's thread, as all of this */
static size_t lingering;

/* ---- in the loop: output */

static bool
is_open(const struct process *p)
{
	return p->out[0].in.fd >= 0 || p->out[1].in.fd >= 0;
}

static void
keep(struct process_pipe *q, size_t len)
{
	struct process *p = process_of(q->in.entry);

	ring_append(&p->log, q->which, chunk, len);
	if (p->entry.counted)
		activity_touch();
	child_lock(&process_table);
	child_wake(&p->entry);
	child_unlock(&process_table);
}

/* One read; false when there is nothing more for now. */
static bool
read_pipe(struct process_pipe *q, bool wanted)
{
	ssize_t n = read(q->in.fd, chunk, CHUNK);

	if (n > 0) {
		if (wanted)
			keep(q, (size_t)n);
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

/* Reads what the process wrote before its end; its children may go on. */
static void
read_rest(struct process_pipe *q)
{
	size_t left = REST_MAX / CHUNK;

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
 * A child that was left behind may write for ever; it is read, so that it
 * neither blocks nor dies of it.
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
finish(struct child_entry *c)
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
	/* before anybody sees it as ended, and may remove it */
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

/* ---- in the loop: its time is over */

static void *
end_late(void *entry)
{
	struct child_entry *c = entry;

	(void)child_end_all(&c, 1);
	child_release(c);
	return NULL;
}

static void
time_ready(struct loop_item *item, uint32_t events)
{
	struct child_entry *c = ((struct child_item *)item)->entry;
	struct process *p = process_of(c);

	(void)events;
	if (p->timer.fd < 0)
		return;
	child_close_item(&p->timer);
	p->out_of_time = true;
	/* the grace is not waited for here */
	child_lock(&process_table);
	c->refs++;
	child_unlock(&process_table);
	if (serve_thread(end_late, c) < 0) {
		proctree_signal(c->child.pid, NULL, SIGKILL);
		kill(c->child.pid, SIGKILL);
		child_release(c);
	}
}

/* ---- the beginning */

void
process_prepare(struct process *p)
{
	child_prepare(&p->entry, finish);
	child_add_item(&p->entry, &p->out[0].in, output_ready);
	child_add_item(&p->entry, &p->out[1].in, output_ready);
	child_add_item(&p->entry, &p->timer, time_ready);
	p->out[1].which = RING_STDERR;
}
