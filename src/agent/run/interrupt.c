/* interrupt.c: stopping the commands that run, and nothing else. */
#include "agent/run/interrupt.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>

#include "agent/base/loop.h"
#include "agent/base/proctree.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	/* a second of grace, one for the shell to yield, a slow machine */
	THREADS_MS = 4000,
	GIVE_UP_MS = 9000,
	WAKERS_MAX = 2,
	SHOWN_MAX = 200 /* bytes of a command's text in a list */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static struct interrupt_job *jobs;
static void (*wakers[WAKERS_MAX])(void);

/* ---- the jobs */

static bool
is_taken(const char *id)
{
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (id[0] != '\0' && str_equal(j->name.id, id))
			return true;
	return false;
}

int
interrupt_enter(struct interrupt_job *j, const struct interrupt_name *n,
    struct err *e)
{
	bool taken;

	*j = (struct interrupt_job){ .name = *n,
		.asked_ms = clock_ms(),
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	clock_iso(j->asked_at);
	pthread_mutex_lock(&lock);
	taken = is_taken(n->id);
	if (!taken) {
		j->next = jobs;
		jobs = j;
	}
	pthread_mutex_unlock(&lock);
	if (!taken)
		return 0;
	mem_close_fd(&j->wake);
	return err_set(e, ERR_CONFLICT, CODE_EXECUTION_ALREADY_EXISTS,
	    "a command with the executionId '%s' runs", n->id);
}

static bool
has_left(int client)
{
	struct pollfd f = { client, POLLRDHUP, 0 };

	return client > 0 && poll(&f, 1, 0) > 0;
}

enum interrupt_why
interrupt_told(struct interrupt_job *j)
{
	enum interrupt_why told;

	pthread_mutex_lock(&lock);
	if (j->told == INTERRUPT_NOT && has_left(j->name.client))
		j->told = INTERRUPT_ASKED;
	told = j->told;
	pthread_mutex_unlock(&lock);
	return told;
}

void
interrupt_root(struct interrupt_job *j, pid_t root)
{
	pthread_mutex_lock(&lock);
	j->over = j->root > 0 && root == 0;
	j->root = root;
	pthread_cond_broadcast(&one_ended);
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

/* ---- waking who waits for a turn */

void
interrupt_on_tell(void (*wake)(void))
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < WAKERS_MAX; i++)
		if (wakers[i] == NULL || wakers[i] == wake) {
			wakers[i] = wake;
			break;
		}
	pthread_mutex_unlock(&lock);
}

/* Without the lock: a waker takes the one of its table. */
static void
wake_all(void)
{
	for (size_t i = 0; i < WAKERS_MAX; i++) {
		void (*wake)(void);

		pthread_mutex_lock(&lock);
		wake = wakers[i];
		pthread_mutex_unlock(&lock);
		if (wake != NULL)
			wake();
	}
}

/* ---- interrupting; with the lock held, but for the last three */

struct meant {
	struct interrupt_meant who;
	int64_t before_ms; /* asked for until then */
	enum interrupt_why why;
};

static bool
is_meant(const struct interrupt_job *j, const struct meant *m)
{
	return !j->over && j->asked_ms <= m->before_ms &&
	    (m->who.shell == NULL || str_equal(j->name.shell, m->who.shell)) &&
	    (m->who.id == NULL || str_equal(j->name.id, m->who.id));
}

static size_t
tell_meant(const struct meant *m)
{
	size_t n = 0;

	for (struct interrupt_job *j = jobs; j != NULL; j = j->next) {
		if (j->told != INTERRUPT_NOT || !is_meant(j, m))
			continue;
		j->told = m->why;
		(void)!eventfd_write(j->wake, 1);
		n++;
	}
	return n;
}

static size_t
count_told(const struct meant *m)
{
	size_t n = 0;

	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		n += j->told != INTERRUPT_NOT && is_meant(j, m);
	return n;
}

/* Until none of those that were told is left. */
static size_t
wait_told(const struct meant *m, int64_t end_ms)
{
	struct timespec at = { .tv_sec = end_ms / 1000,
		.tv_nsec = end_ms % 1000 * 1000000 };
	size_t left;

	while ((left = count_told(m)) > 0 &&
	    pthread_cond_clockwait(&one_ended, &lock, CLOCK_MONOTONIC, &at) ==
		0)
		;
	return left;
}

/*
 * Those whose thread is held up by a client that does not read.  What is
 * killed is over, although its thread goes on when the client reads or leaves.
 */
static void
kill_told(const struct meant *m)
{
	for (struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->told != INTERRUPT_NOT && is_meant(j, m) && j->root > 0)
			j->over = proctree_kill(j->root, NULL) == 0;
}

static size_t
interrupt(const struct meant *m, size_t *left)
{
	int64_t begin = clock_ms();
	size_t count;

	pthread_mutex_lock(&lock);
	count = tell_meant(m);
	pthread_mutex_unlock(&lock);
	wake_all();
	pthread_mutex_lock(&lock);
	if (wait_told(m, begin + THREADS_MS) > 0)
		kill_told(m);
	*left = wait_told(m, begin + GIVE_UP_MS);
	pthread_mutex_unlock(&lock);
	return count;
}

int
interrupt_these(const struct interrupt_meant *m, size_t *count, struct err *e)
{
	size_t left;

	*count = interrupt(&(struct meant){ .who = *m,
			       .before_ms = clock_ms() - m->older_ms,
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

	(void)interrupt(&(struct meant){ .who = { .shell = shell },
			    .before_ms = clock_ms(),
			    .why = INTERRUPT_DESTROYED },
	    &left);
}

/* ---- the list */

static json_t *
job_entry(const struct interrupt_job *j)
{
	char text[SHOWN_MAX + 1];

	str_copy(text, sizeof(text), "");
	if (j->name.command != NULL)
		snprintf(text, sizeof(text), "%s", j->name.command);
	return json_pack("{s:s, s:s, s:o, s:o*, s:s}", "id", j->name.id,
	    "route", j->name.route, "sessionId", json_lossy(j->name.shell),
	    "command", j->name.command != NULL ? json_lossy(text) : NULL,
	    "startedAt", j->asked_at);
}

json_t *
interrupt_list(void)
{
	json_t *all = json_array();

	pthread_mutex_lock(&lock);
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->name.route != NULL && !j->over)
			json_array_append_new(all, job_entry(j));
	pthread_mutex_unlock(&lock);
	return all;
}
