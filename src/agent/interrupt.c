/* interrupt.c: stopping the commands that run, and nothing else. */
#include "agent/interrupt.h"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/loop.h"
#include "agent/proctree.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	/* a second of grace, one for the shell to yield, a slow machine */
	THREADS_MS = 4000,
	GIVE_UP_MS = 9000
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static struct interrupt_job *jobs;

/* ---- the jobs */

void
interrupt_enter(struct interrupt_job *j, const char *shell)
{
	*j = (struct interrupt_job){ .shell = shell,
		.asked_ms = clock_ms(),
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_lock(&lock);
	j->next = jobs;
	jobs = j;
	pthread_mutex_unlock(&lock);
}

enum interrupt_why
interrupt_told(struct interrupt_job *j)
{
	enum interrupt_why told;

	pthread_mutex_lock(&lock);
	told = j->told;
	pthread_mutex_unlock(&lock);
	return told;
}

void
interrupt_root(struct interrupt_job *j, pid_t root)
{
	pthread_mutex_lock(&lock);
	j->root = root;
	pthread_mutex_unlock(&lock);
}

void
interrupt_end(struct interrupt_job *j)
{
	pthread_mutex_lock(&lock);
	for (struct interrupt_job **at = &jobs; *at != NULL; at = &(*at)->next)
		if (*at == j) {
			*at = j->next;
			break;
		}
	pthread_cond_broadcast(&one_ended);
	pthread_mutex_unlock(&lock);
	mem_close_fd(&j->wake);
}

/* ---- time limits, in the loop's thread */

static void
kill_overdue(void)
{
	int64_t late_ms = clock_ms() - THREADS_MS;

	pthread_mutex_lock(&lock);
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->limit_ms > 0 && j->limit_ms < late_ms && j->root > 0)
			proctree_kill(j->root, NULL);
	pthread_mutex_unlock(&lock);
}

static void
watch_limits(void *arg)
{
	(void)arg;
	loop_each_second(kill_overdue);
}

void
interrupt_limit(struct interrupt_job *j, int64_t limit_ms)
{
	struct err e = { 0 };

	if (limit_ms == 0)
		return;
	pthread_mutex_lock(&lock);
	j->limit_ms = limit_ms;
	pthread_mutex_unlock(&lock);
	if (loop_call(watch_limits, NULL, &e) < 0)
		log_err(LOG_WARN, "time_limit", &e);
}

/* ---- interrupting; all of it with the lock held */

struct meant {
	const char *shell; /* NULL: every one */
	int64_t before_ms; /* asked for until then */
	enum interrupt_why why;
};

static size_t
tell(const struct meant *m)
{
	size_t n = 0;

	for (struct interrupt_job *j = jobs; j != NULL; j = j->next) {
		if (j->told != INTERRUPT_NOT || j->asked_ms > m->before_ms ||
		    (m->shell != NULL && !str_equal(j->shell, m->shell)))
			continue;
		j->told = m->why;
		(void)!eventfd_write(j->wake, 1);
		n++;
	}
	return n;
}

static size_t
count_told(void)
{
	size_t n = 0;

	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		n += j->told != INTERRUPT_NOT;
	return n;
}

/* Until none that was told is left. */
static size_t
wait_told(int64_t end_ms)
{
	struct timespec at = { .tv_sec = end_ms / 1000,
		.tv_nsec = end_ms % 1000 * 1000000 };
	size_t left;

	while ((left = count_told()) > 0 &&
	    pthread_cond_clockwait(&one_ended, &lock, CLOCK_MONOTONIC, &at) ==
		0)
		;
	return left;
}

/* Whose thread is held up by a client that does not read. */
static void
kill_told(void)
{
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->told != INTERRUPT_NOT && j->root > 0)
			proctree_kill(j->root, NULL);
}

static size_t
interrupt(const struct meant *m, size_t *left)
{
	int64_t begin = clock_ms();
	size_t count;

	pthread_mutex_lock(&lock);
	count = tell(m);
	if (wait_told(begin + THREADS_MS) > 0)
		kill_told();
	*left = wait_told(begin + GIVE_UP_MS);
	pthread_mutex_unlock(&lock);
	return count;
}

int
interrupt_all(int64_t older_ms, size_t *count, struct err *e)
{
	size_t left;

	*count = interrupt(&(struct meant){ .before_ms = clock_ms() - older_ms,
			       .why = INTERRUPT_ASKED },
	    &left);
	if (left > 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_STILL_RUNNING,
		    "%zu commands did not end", left);
	return 0;
}

void
interrupt_shell(const char *shell)
{
	size_t left;

	(void)interrupt(&(struct meant){ .shell = shell,
			    .before_ms = clock_ms(),
			    .why = INTERRUPT_DESTROYED },
	    &left);
}
