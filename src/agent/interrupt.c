/* interrupt.c: stopping the commands that run, and nothing else. */
#include "agent/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/proctree.h"
#include "agent/script.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	GRACE_MS = 1000, /* between SIGTERM and SIGKILL */
	KILL_MS = 1000,
	GIVE_UP_MS = 7000, /* for the threads to finish */
	STATE_MS = 2000,   /* of a slow machine's shell, unless it dies */
	STATE_MAX = 4 * 1024 * 1024,
	NAP_MS = 10
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct interrupt_job *jobs;
static char dir[64];

#define END_MARK "end-of-state"

/* ---- the jobs */

void
interrupt_enter(struct interrupt_job *j)
{
	*j = (struct interrupt_job){ .asked_ms = clock_ms(),
		.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	pthread_mutex_lock(&lock);
	j->next = jobs;
	jobs = j;
	pthread_mutex_unlock(&lock);
}

bool
interrupt_begin(struct interrupt_job *j, pid_t root, bool shell)
{
	bool told;

	pthread_mutex_lock(&lock);
	told = j->told;
	if (!told) {
		j->root = root;
		j->shell = shell;
		j->since = proctree_now();
	}
	pthread_mutex_unlock(&lock);
	return !told;
}

bool
interrupt_over(struct interrupt_job *j)
{
	bool told;

	pthread_mutex_lock(&lock);
	told = j->told;
	j->root = 0;
	pthread_mutex_unlock(&lock);
	return told;
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
	pthread_mutex_unlock(&lock);
	mem_close_fd(&j->wake);
}

/* ---- interrupting; all of it with the lock held, so that roots live */

static size_t
signal_job(const struct interrupt_job *j, int sig)
{
	auto_tree struct proctree spare = { 0 };

	if (j->root == 0)
		return 0;
	if (j->shell)
		proctree_older(j->root, j->since, &spare);
	if (j->alone)
		kill(j->root, sig);
	return proctree_signal(j->root, &spare, sig) + j->alone;
}

static void
begin_job(struct interrupt_job *j, bool can_tell)
{
	j->told = true;
	if (j->root == 0)
		return;
	j->alone = !j->shell && signal_job(j, 0) == 0;
	if (j->shell && can_tell)
		kill(j->root, SIGUSR2);
	else if (!j->alone)
		kill(j->root, SIGSTOP); /* lest it go on with its list */
	signal_job(j, SIGTERM);
}

static size_t
signal_told(int sig)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->told)
			n += signal_job(j, sig);
	pthread_mutex_unlock(&lock);
	return n;
}

static size_t
wake_told(void)
{
	size_t n = 0;

	pthread_mutex_lock(&lock);
	for (struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->told) {
			(void)!eventfd_write(j->wake, 1);
			n++;
		}
	pthread_mutex_unlock(&lock);
	return n;
}

static void
nap(void)
{
	(void)poll(NULL, 0, NAP_MS);
}

/* Until nothing of the commands is left, or the time is over. */
static void
wait_processes(int sig, int ms)
{
	int64_t end = clock_ms() + ms;

	while (signal_told(sig) > 0 && clock_left_ms(end) > 0)
		nap();
}

static bool write_script(void);

int
interrupt_all(int64_t older_ms, size_t *count, struct err *e)
{
	int64_t before = clock_ms() - older_ms, end;
	size_t left;
	bool can_tell = write_script();

	*count = 0;
	pthread_mutex_lock(&lock);
	for (struct interrupt_job *j = jobs; j != NULL; j = j->next)
		if (j->asked_ms <= before && !j->told) {
			begin_job(j, can_tell);
			(*count)++;
		}
	pthread_mutex_unlock(&lock);
	wait_processes(0, GRACE_MS);
	wait_processes(SIGKILL, KILL_MS);
	end = clock_ms() + GIVE_UP_MS;
	while ((left = wake_told()) > 0 && clock_left_ms(end) > 0)
		nap();
	if (left > 0)
		return err_set(e, ERR_UNAVAILABLE, "still_running",
		    "%zu commands did not end", left);
	return 0;
}

/* ---- the state of shells */

void
interrupt_open(const char *instance)
{
	snprintf(dir, sizeof(dir), "/tmp/.sandlease-%s", instance);
}

void
interrupt_trap(struct buf *to)
{
	buf_fmt(to, "\\builtin trap '\\builtin . %s/interrupt' USR2\n", dir);
}

/*
 * What the trap runs: it tells all and stands still, lest it go on with the
 * command.  False when it is not there as a whole: the tenant may have filled
 * /tmp, or put something else in its place.
 */
static bool
write_script(void)
{
	auto_buf struct buf text = { 0 };
	auto_free char *path = xasprintf("%s/interrupt", dir);
	auto_fd int fd = -1;

	buf_str(&text, "{\n");
	script_dump(&text, END_MARK);
	buf_fmt(&text, "} >|%s/state.$$ 2>/dev/null\n\\builtin kill -STOP $$\n",
	    dir);
	(void)mkdir(dir, 0700);
	fd = open(path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
	    0600);
	return fd >= 0 && write(fd, text.data, text.len) == (ssize_t)text.len;
}

static bool
is_whole(const struct buf *b)
{
	static const char END[] = "\n" END_MARK "\n";
	size_t len = sizeof(END) - 1;

	return b->len >= len && memcmp(b->data + b->len - len, END, len) == 0;
}

/* The tenant may have put anything there: a bounded, plain file only. */
static bool
read_state(const char *path, struct buf *out)
{
	auto_fd int fd =
	    open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char piece[4096];
	ssize_t n;

	out->len = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	while ((n = read(fd, piece, sizeof(piece))) > 0) {
		if (out->len + (size_t)n > STATE_MAX)
			return false;
		buf_add(out, piece, (size_t)n);
	}
	return is_whole(out);
}

bool
interrupt_state(const struct child *shell, struct buf *out)
{
	auto_free char *path = xasprintf("%s/state.%d", dir, (int)shell->pid);
	struct pollfd death = { shell->pidfd, POLLIN, 0 };
	int64_t end = clock_ms() + STATE_MS;
	bool whole;

	while (!(whole = read_state(path, out)) && clock_left_ms(end) > 0 &&
	    poll(&death, 1, NAP_MS) == 0)
		;
	unlink(path);
	if (whole) {
		out->len -= sizeof("\n" END_MARK "\n") - 1;
		out->data[out->len] = '\0';
	}
	return whole;
}
