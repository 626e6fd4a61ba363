/*
 * run.c: the life of a terminal, as the loop sees it.
 *
 * All but the last part runs in the loop's thread, which alone reads what the
 * program writes and waits for its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/cell/limits_view.h"
#include "agent/pty/internal.h"
#include "agent/run/activity.h"
#include "common/mem.h"

enum {
	CHUNK = 4096,        /* a terminal gives no more at once */
	CHUNKS_AT_ONCE = 16, /* a loud one must not starve the others */
	CHUNKS_AT_END = 256  /* more than the kernel keeps of it */
};

static struct pty *loose;

/* ---- in the loop: letting go */

/* Events that name one may wait in this batch: it is freed after that. */
static void
release_loose(void)
{
	while (loose != NULL) {
		struct pty *t = loose;

		loose = t->loose;
		pty_release(t);
	}
}

/* ---- in the loop: output */

static bool
has_ended(const struct pty *t)
{
	return t->child.pid < 0; /* it has been waited for */
}

/* False when there is nothing more for now. */
static bool
read_chunk(struct pty *t)
{
	char chunk[CHUNK];
	ssize_t n = read(t->master, chunk, sizeof(chunk));

	if (n <= 0)
		return n < 0 && errno == EINTR;
	pthread_mutex_lock(&pty_lock);
	pty_keep(t, chunk, (size_t)n);
	pthread_mutex_unlock(&pty_lock);
	return true;
}

static void
read_some(struct pty *t, int chunks)
{
	while (chunks-- > 0 && read_chunk(t))
		;
	if (t->counted)
		activity_touch();
	pthread_mutex_lock(&pty_lock);
	pty_wake(t);
	pthread_mutex_unlock(&pty_lock);
}

static void
output_ready(struct loop_item *item, uint32_t events)
{
	struct pty *t = ((struct pty_item *)item)->pty;

	(void)events;
	if (!has_ended(t))
		read_some(t, CHUNKS_AT_ONCE);
	limits_view_refresh(); /* for `top`, whose next page is the next reading */
}

/* ---- in the loop: the end */

/* Without waiting for it: what spawn_wait() says cannot tell 137 from SIGKILL. */
static void
note_signal(struct pty *t)
{
	siginfo_t how = { 0 };
	const char *name;

	if (waitid(P_PID, (id_t)t->child.pid, &how, WEXITED | WNOWAIT) < 0 ||
	    how.si_code == CLD_EXITED)
		return;
	name = sigabbrev_np(how.si_status);
	snprintf(t->signal, sizeof(t->signal), "SIG%s",
	    name != NULL ? name : "RT");
}

/*
 * Who is left in it reads nothing any more and writes to nobody.  The
 * descriptor stays, for those who may be about to use it.
 */
static void
hang_up(struct pty *t)
{
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		(void)dup3(null, t->master, O_CLOEXEC);
	mem_close_fd(&t->slave);
}

static void
finish(struct pty *t)
{
	int exit_code;

	loop_forget(t->child.pidfd);
	loop_forget(t->master);
	note_signal(t);
	read_some(t, CHUNKS_AT_END);
	exit_code = spawn_wait(&t->child);
	hang_up(t);
	pthread_mutex_lock(&pty_lock);
	t->exit_code = exit_code;
	pty_ended(t);
	pthread_mutex_unlock(&pty_lock);
	t->loose = loose;
	loose = t;
}

/* While somebody signals it, its number must not become another's. */
static bool
may_reap(struct pty *t)
{
	bool may;

	pthread_mutex_lock(&pty_lock);
	may = t->pins == 0 && !t->reaping;
	t->reaping = t->reaping || may;
	pthread_mutex_unlock(&pty_lock);
	return may;
}

static void
exit_ready(struct loop_item *item, uint32_t events)
{
	struct pty *t = ((struct pty_item *)item)->pty;

	(void)events;
	if (has_ended(t))
		return;
	if (may_reap(t))
		finish(t);
	else
		loop_change(t->child.pidfd, 0, item); /* look_again() will */
}

static void
look_again(void *arg)
{
	struct pty *t = arg;
	struct pollfd f = { t->child.pidfd, POLLIN, 0 };

	if (has_ended(t))
		return;
	loop_change(t->child.pidfd, EPOLLIN, &t->exit.item);
	if (poll(&f, 1, 0) == 1 && may_reap(t))
		finish(t);
}

/* ---- in the loop: the beginning */

static void
attach(void *arg)
{
	struct pty *t = arg;

	loop_each_second(release_loose);
	t->out = (struct pty_item){ { output_ready }, t };
	t->exit = (struct pty_item){ { exit_ready }, t };
	t->attached = loop_watch(t->child.pidfd, EPOLLIN, &t->exit.item) == 0 &&
	    loop_watch(t->master, EPOLLIN, &t->out.item) == 0;
	if (!t->attached)
		loop_forget(t->child.pidfd);
}

int
pty_attach(struct pty *t, struct err *e)
{
	if (loop_call(attach, t, e) < 0)
		return -1;
	if (!t->attached)
		return err_set(e, ERR_INTERNAL, CODE_TERMINAL_ERROR,
		    "the terminal cannot be watched");
	return 0;
}

/* ---- pins */

bool
pty_claim(struct pty *t)
{
	bool mine;

	pthread_mutex_lock(&pty_lock);
	mine = !t->ended && !t->reaping && !t->ending;
	if (mine) {
		t->ending = true;
		t->pins++;
	}
	pthread_mutex_unlock(&pty_lock);
	return mine;
}

void
pty_unpin(struct pty *t)
{
	struct err ignored;

	pthread_mutex_lock(&pty_lock);
	t->pins--;
	pthread_mutex_unlock(&pty_lock);
	(void)!loop_call(look_again, t, &ignored);
}

/* ---- the end of the session */

static void
hang_up_all(void *arg)
{
	size_t count;
	auto_free struct pty **all = pty_all(&count);

	(void)arg;
	for (size_t i = 0; i < count; i++) {
		if (!has_ended(all[i])) {
			kill(all[i]->child.pid, SIGHUP);
			kill(all[i]->child.pid, SIGCONT);
		}
		pty_release(all[i]);
	}
}

void
pty_hang_up_all(void)
{
	struct err ignored;
	bool any;

	pthread_mutex_lock(&pty_lock);
	any = pty_living() > 0;
	pthread_mutex_unlock(&pty_lock);
	if (any) /* else there may be no loop */
		(void)!loop_call(hang_up_all, NULL, &ignored);
}
