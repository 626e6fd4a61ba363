/* proctree.c: finds all descendants of a process, and stops or kills them. */
#include "agent/base/proctree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

enum {
	PATIENCE_MS = 5000,  /* for processes that do not die */
	STOP_FIRST_MS = 200, /* for a tree that grows during the stopping */
	PROCS_MAX = 1 << 16,
	STAT_MAX = 1024
};

enum relation { UNKNOWN, OUTSIDE, BELOW, SPARED };

struct proc {
	struct proc_id id;
	pid_t ppid;
	char state;
	enum relation relation;
};

struct proc_table {
	struct proc *procs;
	size_t count;
};

int
proctree_parse(const char *stat, pid_t *pid, char *state, pid_t *ppid,
    uint64_t *start)
{
	/* the program's name may hold parentheses and spaces */
	const char *after = strrchr(stat, ')');
	int n, pp, threads;

	if (after == NULL || sscanf(stat, "%d", &n) != 1 ||
	    sscanf(after + 1,
		" %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
		"%*d %*d %d %*d %" SCNu64,
		state, &pp, &threads, start) != 4)
		return -1;
	/* only the first thread has ended: the others still run */
	if (*state == 'Z' && threads > 1)
		*state = 'S';
	*pid = n;
	*ppid = pp;
	return 0;
}

/* CPU ticks in a line of /proc/PID/stat; children: that were waited for. */
struct ticks {
	uint64_t own, children;
};

static int
parse_cpu(const char *stat, struct ticks *out)
{
	const char *after = strrchr(stat, ')');
	uint64_t user, sys, child_user, child_sys;

	if (after == NULL ||
	    sscanf(after + 1,
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
		" %" SCNu64 " %" SCNu64 " %" SCNu64,
		&user, &sys, &child_user, &child_sys) != 4)
		return -1;
	*out = (struct ticks){ user + sys, child_user + child_sys };
	return 0;
}

static bool
read_stat(int proc_dir, const char *name, char text[STAT_MAX])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%.32s/stat", name);
	fd = openat(proc_dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, STAT_MAX - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return true;
}

static bool
read_proc(int proc_dir, const char *name, struct proc *p)
{
	char text[STAT_MAX];

	if (!read_stat(proc_dir, name, text))
		return false;
	*p = (struct proc){ 0 };
	return proctree_parse(text, &p->id.pid, &p->state, &p->ppid,
		   &p->id.start) == 0;
}

static int
by_pid(const void *a, const void *b)
{
	const struct proc *x = a, *y = b;

	return (x->id.pid > y->id.pid) - (x->id.pid < y->id.pid);
}

static void
read_table(struct proc_table *t)
{
	DIR *d = opendir("/proc");
	const struct dirent *ent;

	*t = (struct proc_table){ 0 };
	if (d == NULL)
		return;
	while ((ent = readdir(d)) != NULL && t->count < PROCS_MAX) {
		struct proc p;

		if (ent->d_name[0] < '1' || ent->d_name[0] > '9' ||
		    !read_proc(dirfd(d), ent->d_name, &p))
			continue;
		if ((t->count & (t->count - 1)) == 0)
			t->procs = xrealloc(t->procs,
			    (t->count > 0 ? 2 * t->count : 1) *
				sizeof(*t->procs));
		t->procs[t->count++] = p;
	}
	closedir(d);
	if (t->count > 0)
		qsort(t->procs, t->count, sizeof(*t->procs), by_pid);
}

struct proc_cpu
proctree_cpu(pid_t pid)
{
	const uint64_t us_per_second = 1000000;
	const uint64_t per_second = (uint64_t)sysconf(_SC_CLK_TCK);
	char name[16], text[STAT_MAX];
	struct ticks t;

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	if (!read_stat(AT_FDCWD, name, text) || parse_cpu(text, &t) < 0)
		return (struct proc_cpu){ 0 };
	return (struct proc_cpu){
		.own_us = (int64_t)(t.own * us_per_second / per_second),
		.children_us =
		    (int64_t)(t.children * us_per_second / per_second),
	};
}

int64_t
proctree_cpu_ms(void)
{
	DIR *d = opendir("/proc");
	const struct dirent *ent;
	uint64_t sum = 0;
	struct ticks t;
	char text[STAT_MAX];

	if (d == NULL)
		return 0;
	while ((ent = readdir(d)) != NULL) {
		long pid = strtol(ent->d_name, NULL, 10);

		if (pid > 1 && pid != getpid() &&
		    read_stat(dirfd(d), ent->d_name, text) &&
		    parse_cpu(text, &t) == 0)
			sum += t.own + t.children;
	}
	closedir(d);
	return (int64_t)(sum * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

bool
proctree_holds(const struct proctree *t, const struct proc_id *id)
{
	for (size_t i = 0; t != NULL && i < t->count; i++)
		if (t->procs[i].pid == id->pid &&
		    t->procs[i].start == id->start)
			return true;
	return false;
}

/*
 * Walks up from p to root, to a process whose relation is known or to the top,
 * and sets the relation of each process on the way.
 */
static enum relation
relate(struct proc_table *t, struct proc *p, pid_t root,
    const struct proctree *spare, int depth)
{
	struct proc key = { .id = { .pid = p->ppid } };
	struct proc *parent;

	if (p->relation != UNKNOWN)
		return p->relation;
	parent = bsearch(&key, t->procs, t->count, sizeof(key), by_pid);
	if (p->id.pid == root || parent == NULL || depth > 1024)
		p->relation = OUTSIDE;
	else if (proctree_holds(spare, &p->id))
		p->relation = SPARED;
	else if (p->ppid == root)
		p->relation = BELOW;
	else
		p->relation = relate(t, parent, root, spare, depth + 1);
	return p->relation;
}

static bool
is_live_descendant(const struct proc *p)
{
	return p->relation == BELOW && p->state != 'Z' && p->state != 'X';
}

/* Reads into t the living descendants of root that are not spared. */
static void
read_descendants(pid_t root, const struct proctree *spare, struct proc_table *t)
{
	size_t kept = 0;

	read_table(t);
	for (size_t i = 0; i < t->count; i++)
		relate(t, &t->procs[i], root, spare, 0);
	for (size_t i = 0; i < t->count; i++)
		if (is_live_descendant(&t->procs[i]))
			t->procs[kept++] = t->procs[i];
	t->count = kept;
}

static void
copy_below(struct proc_table *t, pid_t root, struct proctree *out)
{
	size_t n = 0;

	*out = (struct proctree){ 0 };
	for (size_t i = 0; i < t->count; i++)
		t->procs[i].relation = UNKNOWN;
	for (size_t i = 0; i < t->count; i++) {
		relate(t, &t->procs[i], root, NULL, 0);
		out->count += is_live_descendant(&t->procs[i]);
	}
	out->procs = xcalloc(out->count, sizeof(*out->procs));
	for (size_t i = 0; i < t->count; i++)
		if (is_live_descendant(&t->procs[i]))
			out->procs[n++] = t->procs[i].id;
}

void
proctree_take_each(const pid_t *roots, size_t count, struct proctree *out)
{
	struct proc_table t;

	read_table(&t);
	for (size_t i = 0; i < count; i++)
		copy_below(&t, roots[i], &out[i]);
	free(t.procs);
}

void
proctree_below(pid_t root, const struct proctree *spare, struct proctree *out)
{
	struct proc_table t;

	read_descendants(root, spare, &t);
	*out = (struct proctree){ .count = t.count };
	out->procs = xcalloc(t.count, sizeof(*out->procs));
	for (size_t i = 0; i < t.count; i++)
		out->procs[i] = t.procs[i].id;
	free(t.procs);
}

void
proctree_take(pid_t root, struct proctree *out)
{
	proctree_below(root, NULL, out);
}

void
proctree_free(struct proctree *t)
{
	free(t->procs);
	*t = (struct proctree){ 0 };
}

static void
signal_all(const struct proc_table *t, int sig)
{
	for (size_t i = 0; i < t->count; i++)
		kill(t->procs[i].id.pid, sig);
}

static size_t
count_moving(const struct proc_table *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->procs[i].state != 'T' && t->procs[i].state != 't')
			n++;
	return n;
}

/* The pid last given out in this pid namespace; 0 if /proc does not say. */
static pid_t
last_pid(void)
{
	auto_fd int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char text[128];
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	int pid = 0;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	return sscanf(text, "%*s %*s %*s %*s %d", &pid) == 1 ? pid : 0;
}

struct proc_moment
proctree_now(void)
{
	struct timespec t;
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (struct proc_moment){ .tick = (uint64_t)t.tv_sec * hz +
		    (uint64_t)t.tv_nsec / (1000000000 / hz),
		.last = last_pid() };
}

static bool
is_older(const struct proc_id *id, struct proc_moment since)
{
	return id->start < since.tick ||
	    (id->start == since.tick && id->pid <= since.last);
}

void
proctree_older(pid_t root, struct proc_moment since, struct proctree *out)
{
	size_t kept = 0;

	proctree_take(root, out);
	for (size_t i = 0; i < out->count; i++)
		if (is_older(&out->procs[i], since))
			out->procs[kept++] = out->procs[i];
	out->count = kept;
}

size_t
proctree_signal(pid_t root, const struct proctree *spare, int sig)
{
	struct proc_table t;

	read_descendants(root, spare, &t);
	signal_all(&t, sig);
	free(t.procs);
	return t.count;
}

pid_t
proctree_first(const struct proctree *t)
{
	const struct proc_id *first = NULL;

	for (size_t i = 0; i < t->count; i++)
		if (first == NULL || t->procs[i].start < first->start ||
		    (t->procs[i].start == first->start &&
			t->procs[i].pid < first->pid))
			first = &t->procs[i];
	return first != NULL ? first->pid : 0;
}

/*
 * Stops all before it kills any: a stopped process cannot fork, so that the
 * last walk sees every process, also of a fork bomb.
 */
size_t
proctree_kill_below(pid_t root, const struct proctree *spare)
{
	int64_t begin = clock_ms();
	size_t left;

	do {
		int64_t spent = clock_ms() - begin;
		struct proc_table t;

		read_descendants(root, spare, &t);
		left = t.count;
		if (left > 0 && count_moving(&t) > 0 && spent < STOP_FIRST_MS)
			signal_all(&t, SIGSTOP);
		else
			signal_all(&t, SIGKILL);
		free(t.procs);
		if (left > 0)
			nanosleep(&(struct timespec){ .tv_nsec = 500000 },
			    NULL);
		if (spent > PATIENCE_MS)
			break;
	} while (left > 0);
	return left;
}

void
proctree_stop(pid_t root)
{
	int64_t begin = clock_ms();
	char name[16];
	struct proc p;

	kill(root, SIGSTOP);
	snprintf(name, sizeof(name), "/proc/%d", (int)root);
	while (read_proc(AT_FDCWD, name, &p) &&
	    strchr("TtZX", p.state) == NULL &&
	    clock_ms() - begin < STOP_FIRST_MS)
		nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

size_t
proctree_kill(pid_t root, const struct proctree *spare)
{
	size_t left;

	proctree_stop(root);
	left = proctree_kill_below(root, spare);
	kill(root, SIGKILL);
	return left;
}

static bool
is_alive(const struct proc_id *id)
{
	char name[16];
	struct proc p;

	snprintf(name, sizeof(name), "/proc/%d", (int)id->pid);
	return read_proc(AT_FDCWD, name, &p) && p.id.start == id->start;
}

void
proctree_end(const struct proctree *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (is_alive(&t->procs[i]))
			proctree_kill(t->procs[i].pid, NULL);
}

void
proctree_merge(struct proctree *t, const struct proctree *more)
{
	size_t n = 0;

	t->procs = xrealloc(t->procs,
	    (t->count + more->count + 1) * sizeof(*t->procs));
	for (size_t i = 0; i < t->count; i++)
		if (is_alive(&t->procs[i]))
			t->procs[n++] = t->procs[i];
	for (size_t i = 0; i < more->count; i++)
		t->procs[n++] = more->procs[i];
	t->count = n;
}
