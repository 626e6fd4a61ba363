/* interrupt.c: ends the commands that run, and nothing else. */
#include "agent/run/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "agent/base/lock.h"
#include "agent/base/loop.h"
#include "agent/base/proctree.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	/* a second of grace, one for the shell, time for a slow machine */
	THREADS_MS = 4000,
	GIVE_UP_MS = 9000,
	WAKERS_MAX = 2,
	SHOWN_MAX = 200 /* bytes of a command's text in a list */
};

static struct lock lock = LOCK_INIT(LOCK_INTERRUPT);
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
	lock_take(&lock);
	taken = is_taken(n->id);
	if (!taken) {
		j->next = jobs;
		jobs = j;
	}
	lock_drop(&lock);
	if (!taken)
		return 0;
	mem_close_fd(&j->wake);
	return err_set(e, ERR_CONFLICT, CODE_EXECUTION_ALREADY_EXISTS,
	    "a command with the executionId '%s' is already running", n->id);
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

	lock_take(&lock);
	if (j->told == INTERRUPT_NOT && has_left(j->name.client))
		j->told = INTERRUPT_ASKED;
	told = j->told;
	lock_drop(&lock);
	return told;
}

void
interrupt_root(struct interrupt_job *j, pid_t root)
{
	lock_take(&lock);
	j->over = j->root > 0 && root == 0;
	j->root = root;
	pthread_cond_broadcast(&one_ended);
	lock_drop(&lock);
}

void
interrupt_end(struct interrupt_job *j)
{
	lock_take(&lock);
	for (struct interrupt_job **at = &jobs; *at != NULL; at = &(*at)->next)
		if (*at == j) {
			*at = j->next;
			break;
		}
	pthread_cond_broadcast(&one_ended);
	lock_drop(&lock);
	mem_close_fd(&j->wake);
}

/* ---- time limits, in the loop's thread */

static void
kill_overdue(void)
{
	int64_t late_ms = clock_ms() - THREADS_MS;

	lock_take(&lock);
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->limit_ms > 0 && j->limit_ms < late_ms && j->root > 0)
			proctree_kill(j->root, NULL);
	lock_drop(&lock);
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
	lock_take(&lock);
	j->limit_ms = limit_ms;
	lock_drop(&lock);
	if (loop_call(watch_limits, NULL, &e) < 0)
		log_err(LOG_WARN, "time_limit", &e);
}

/* ---- waking threads that wait for their turn */

void
interrupt_on_tell(void (*wake)(void))
{
	lock_take(&lock);
	for (size_t i = 0; i < WAKERS_MAX; i++)
		if (wakers[i] == NULL || wakers[i] == wake) {
			wakers[i] = wake;
			break;
		}
	lock_drop(&lock);
}

/* Without the lock: a waker takes the lock of its own table. */
static void
wake_all(void)
{
	for (size_t i = 0; i < WAKERS_MAX; i++) {
		void (*wake)(void);

		lock_take(&lock);
		wake = wakers[i];
		lock_drop(&lock);
		if (wake != NULL)
			wake();
	}
}

/* ---- interrupting; all but the last three functions need the lock */

struct selection {
	struct interrupt_meant by;
	int64_t before_ms; /* the call is not younger than this */
	enum interrupt_why why;
};

static bool
is_selected(const struct interrupt_job *j, const struct selection *m)
{
	return !j->over && j->asked_ms <= m->before_ms &&
	    (m->by.shell == NULL || str_equal(j->name.shell, m->by.shell)) &&
	    (m->by.id == NULL || str_equal(j->name.id, m->by.id));
}

static size_t
tell_selected(const struct selection *m)
{
	size_t n = 0;

	for (struct interrupt_job *j = jobs; j != NULL; j = j->next) {
		if (j->told != INTERRUPT_NOT || !is_selected(j, m))
			continue;
		j->told = m->why;
		(void)!eventfd_write(j->wake, 1);
		n++;
	}
	return n;
}

static size_t
count_told(const struct selection *m)
{
	size_t n = 0;

	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		n += j->told != INTERRUPT_NOT && is_selected(j, m);
	return n;
}

/* Waits until all interrupted jobs of the selection have ended. */
static size_t
wait_told(const struct selection *m, int64_t end_ms)
{
	size_t left;

	while ((left = count_told(m)) > 0 &&
	    lock_wait_until(&one_ended, &lock, end_ms))
		;
	return left;
}

/*
 * Kills the jobs whose thread is blocked by a client that does not read.  A
 * killed job is over, although its thread stays until the client reads or
 * disconnects.
 */
static void
kill_told(const struct selection *m)
{
	for (struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->told != INTERRUPT_NOT && is_selected(j, m) &&
		    j->root > 0)
			j->over = proctree_kill(j->root, NULL) == 0;
}

static size_t
end_selected(const struct selection *m, size_t *left)
{
	int64_t begin = clock_ms();
	size_t count;

	lock_take(&lock);
	count = tell_selected(m);
	lock_drop(&lock);
	wake_all();
	lock_take(&lock);
	if (wait_told(m, begin + THREADS_MS) > 0)
		kill_told(m);
	*left = wait_told(m, begin + GIVE_UP_MS);
	lock_drop(&lock);
	return count;
}

int
interrupt_these(const struct interrupt_meant *m, size_t *count, struct err *e)
{
	size_t left;

	*count = end_selected(&(struct selection){ .by = *m,
				  .before_ms = clock_ms() - m->older_ms,
				  .why = INTERRUPT_ASKED },
	    &left);
	if (left > 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_STILL_RUNNING,
		    "%zu commands did not end; try again", left);
	return 0;
}

void
interrupt_shell(const char *shell)
{
	size_t left;

	(void)end_selected(&(struct selection){ .by = { .shell = shell },
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

	lock_take(&lock);
	for (const struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->name.route != NULL && !j->over)
			json_array_append_new(all, job_entry(j));
	lock_drop(&lock);
	return all;
}
