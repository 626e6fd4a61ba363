/*
 * run.c: the life of a background process, as the loop sees it.
 *
 * All but the last part runs in the loop's thread, which alone appends to the
 * log and waits for the dead.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
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
static struct process *loose;
static size_t lingering;

/* ---- in the loop: letting go */

static void
release_loose(void)
{
	while (loose != NULL) {
		struct process *p = loose;

		loose = p->loose;
		process_release(p);
	}
}

static void
each_second(void)
{
	release_loose();
	process_sweep();
}

static void
forget(struct process_item *i)
{
	if (i->fd < 0)
		return;
	loop_forget(i->fd);
	close(take_fd(&i->fd));
}

/* Events that name it may wait in this batch: it is freed after that. */
static void
let_go(struct process *p)
{
	if (p->out[0].in.fd >= 0 || p->out[1].in.fd >= 0)
		return;
	p->loose = loose;
	loose = p;
}

/* ---- in the loop: output */

static bool
has_ended(const struct process *p)
{
	return p->child.pid < 0; /* it has been waited for */
}

static void
keep(struct process_pipe *q, size_t len)
{
	struct process *p = q->in.process;

	ring_append(&p->log, q->which, chunk, len);
	if (p->counted)
		activity_touch();
	pthread_mutex_lock(&process_lock);
	process_wake(p);
	pthread_mutex_unlock(&process_lock);
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
		forget(&q->in);
	return false;
}

static void
output_ready(struct loop_item *item, uint32_t events)
{
	struct process_pipe *q = (struct process_pipe *)item;
	struct process *p = q->in.process;

	(void)events;
	if (q->in.fd < 0)
		return;
	for (int i = 0; i < CHUNKS_AT_ONCE && read_pipe(q, !has_ended(p)); i++)
		;
	if (q->in.fd < 0 && has_ended(p)) {
		if (p->out[0].in.fd < 0 && p->out[1].in.fd < 0)
			lingering--;
		let_go(p);
	}
}

/* What was written before its end, not what a child left behind writes. */
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
	if (p->ending || exit_code == 128 + SIGKILL ||
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
	bool open = p->out[0].in.fd >= 0 || p->out[1].in.fd >= 0;

	if (open && lingering < LINGER_MAX) {
		lingering++;
		return;
	}
	forget(&p->out[0].in);
	forget(&p->out[1].in);
	let_go(p);
}

static void
finish(struct process *p)
{
	struct process_record rec = p->rec;

	loop_forget(p->child.pidfd);
	forget(&p->timer);
	rec.end.exit_code = spawn_wait(&p->child);
	read_rest(&p->out[0]);
	read_rest(&p->out[1]);
	rec.end.status = status_of(p, rec.end.exit_code);
	rec.end.timed_out = p->out_of_time;
	clock_iso(rec.end.at);
	/* before anybody sees it as ended, and may remove it */
	process_store_write(&rec);
	if (p->counted)
		activity_end(ACTIVITY_RUNNING);
	pthread_mutex_lock(&process_lock);
	p->ended_ms = clock_ms();
	p->log_bytes = process_store_bytes(rec.id);
	process_ended(p, &rec.end);
	pthread_mutex_unlock(&process_lock);
	linger(p);
}

static bool
is_dead(const struct process *p)
{
	struct pollfd f = { p->child.pidfd, POLLIN, 0 };

	return poll(&f, 1, 0) == 1;
}

/* While somebody signals it, its number must not become another's. */
static bool
may_reap(struct process *p)
{
	bool may;

	pthread_mutex_lock(&process_lock);
	may = p->pins == 0 && !p->reaping;
	p->reaping = p->reaping || may;
	pthread_mutex_unlock(&process_lock);
	return may;
}

static void
exit_ready(struct loop_item *item, uint32_t events)
{
	struct process *p = ((struct process_item *)item)->process;

	(void)events;
	if (has_ended(p))
		return;
	if (may_reap(p))
		finish(p);
	else
		loop_change(p->child.pidfd, 0, item); /* look_again() will */
}

static void
look_again(void *arg)
{
	struct process *p = arg;

	if (has_ended(p))
		return;
	loop_change(p->child.pidfd, EPOLLIN, &p->exit.item);
	if (is_dead(p) && may_reap(p))
		finish(p);
}

/* ---- in the loop: its time is over */

static void
time_ready(struct loop_item *item, uint32_t events)
{
	struct process *p = ((struct process_item *)item)->process;

	(void)events;
	if (p->timer.fd < 0)
		return;
	forget(&p->timer);
	p->out_of_time = true;
	/* the grace is not waited for here */
	pthread_mutex_lock(&process_lock);
	p->refs++;
	pthread_mutex_unlock(&process_lock);
	if (serve_thread(process_end_thread, p) < 0) {
		proctree_signal(p->child.pid, NULL, SIGKILL);
		kill(p->child.pid, SIGKILL);
		process_release(p);
	}
}

/* ---- in the loop: the beginning */

static void
attach(void *arg)
{
	struct process *p = arg;
	const struct {
		int fd;
		struct loop_item *item;
	} ALL[] = {
		{ p->child.pidfd, &p->exit.item },
		{ p->out[0].in.fd, &p->out[0].in.item },
		{ p->out[1].in.fd, &p->out[1].in.item },
		{ p->timer.fd, &p->timer.item },
	};

	loop_each_second(each_second);
	p->attached = true;
	for (size_t i = 0; i < ARRAY_LEN(ALL); i++)
		if (ALL[i].fd >= 0 &&
		    loop_watch(ALL[i].fd, EPOLLIN, ALL[i].item) < 0)
			p->attached = false;
	for (size_t i = 0; !p->attached && i < ARRAY_LEN(ALL); i++)
		loop_forget(ALL[i].fd);
}

static void
prepare(struct process_item *i, struct process *p,
    void (*ready)(struct loop_item *item, uint32_t events))
{
	i->item = (struct loop_item){ ready };
	i->process = p;
}

void
process_prepare(struct process *p)
{
	prepare(&p->exit, p, exit_ready);
	prepare(&p->timer, p, time_ready);
	prepare(&p->out[0].in, p, output_ready);
	prepare(&p->out[1].in, p, output_ready);
	p->out[1].which = RING_STDERR;
}

int
process_attach(struct process *p, struct err *e)
{
	if (loop_call(attach, p, e) < 0)
		return -1;
	if (!p->attached)
		return err_set(e, ERR_INTERNAL, CODE_PROCESS_ERROR,
		    "the process cannot be watched");
	return 0;
}

/* ---- pins */

int
process_not_running(const struct process *p, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_COMMAND_NOT_FOUND,
	    "Process '%s' has ended", p->rec.id);
}

int
process_pin(struct process *p, struct err *e)
{
	int rc = 0;

	pthread_mutex_lock(&process_lock);
	if (p->rec.end.status != PROCESS_RUNNING || p->reaping)
		rc = process_not_running(p, e);
	else
		p->pins++;
	pthread_mutex_unlock(&process_lock);
	return rc;
}

void
process_unpin(struct process *p)
{
	struct err ignored;

	pthread_mutex_lock(&process_lock);
	p->pins--;
	pthread_mutex_unlock(&process_lock);
	(void)!loop_call(look_again, p, &ignored);
}
