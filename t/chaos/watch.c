/*
 * watch.c: checks in /proc that no session ever has two live wrappers.
 *
 *   watch          every 20 ms until stdin ends; a line for each double:
 *                  "double session=... pid=... generation=... pid=... ..."
 *                  and, last, "samples=N wrappers=N doubles=N"
 *   watch --once   "session generation instance pid cell" of all there are
 *
 * A wrapper is a process with SANDLEASE_SESSION_ID, _INSTANCE_ID and
 * _GENERATION in its environment; processes of one pid namespace are one cell,
 * hence one wrapper.  A dying process runs no code any more and counts as gone.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum {
	PERIOD_MS = 20, /* wait: between two samples */
	PIDS_MAX = 4194304,
	WRAPPERS_MAX = 8192,
	WORD_MAX = 64,
	ENVIRON_MAX = 65536,
	YOUNG = 50,  /* a new process may yet exec: read in so many samples */
	SELDOM = 25, /* and an older one once in so many */
	EXITING = 4  /* the kernel's PF_EXITING */
};

struct wrapper {
	long pid;
	unsigned long long start;
	char session[WORD_MAX];
	char instance[WORD_MAX];
	char generation[WORD_MAX];
	char cell[WORD_MAX];
};

struct watch {
	uint32_t now;   /* number of this sample */
	uint32_t *seen; /* by pid: the last sample that had the process */
	uint32_t *born; /* by pid: the first sample without a gap since */
	bool *known;    /* by pid: the process is in `live` */
	struct wrapper *live;
	size_t count;
	long wrappers, doubles;
	bool once;
};

static ssize_t
read_file(long pid, const char *name, char *out, size_t size)
{
	auto_free char *path = xasprintf("/proc/%ld/%s", pid, name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);

	if (n >= 0)
		out[n] = '\0';
	return n;
}

/* False when the process is gone, a zombie or dying. */
static bool
lives(long pid, unsigned long long *start)
{
	char text[1024], state = 'Z';
	unsigned long flags = EXITING;
	const char *rest;

	if (read_file(pid, "stat", text, sizeof(text)) <= 0)
		return false;
	rest = strrchr(text, ')');
	if (rest == NULL ||
	    sscanf(rest + 1,
		" %c %*d %*d %*d %*d %*d %lu %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		&state, &flags, start) != 3)
		return false;
	return state != 'Z' && state != 'X' && (flags & EXITING) == 0;
}

static bool
entry(const char *text, const char *name, char out[WORD_MAX])
{
	size_t len = strlen(name);

	if (strncmp(text, name, len) != 0 || text[len] != '=')
		return false;
	return str_copy(out, WORD_MAX, text + len + 1);
}

static bool
is_wrapper(long pid, struct wrapper *w)
{
	static char text[ENVIRON_MAX];
	auto_free char *ns = NULL;
	ssize_t n = read_file(pid, "environ", text, sizeof(text));

	*w = (struct wrapper){ .pid = pid };
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(text + i) + 1) {
		entry(text + i, "SANDLEASE_SESSION_ID", w->session);
		entry(text + i, "SANDLEASE_INSTANCE_ID", w->instance);
		entry(text + i, "SANDLEASE_GENERATION", w->generation);
	}
	if (w->session[0] == '\0' || w->instance[0] == '\0' ||
	    w->generation[0] == '\0' || !lives(pid, &w->start))
		return false;
	ns = xasprintf("/proc/%ld/ns/pid", pid);
	n = readlink(ns, w->cell, sizeof(w->cell) - 1);
	return n > 0;
}

static void
compare(struct watch *t, const struct wrapper *w)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct wrapper *o = &t->live[i];
		unsigned long long a, b;

		if (!str_equal(o->session, w->session) ||
		    str_equal(o->cell, w->cell))
			continue;
		/* a double only if both live now: the older one is read last */
		if (!lives(w->pid, &b) || b != w->start || !lives(o->pid, &a) ||
		    a != o->start)
			continue;
		t->doubles++;
		printf(
		    "double session=%s pid=%ld generation=%s pid=%ld generation=%s\n",
		    w->session, o->pid, o->generation, w->pid, w->generation);
		fflush(stdout);
	}
}

static void
visit(struct watch *t, long pid)
{
	struct wrapper w;

	if (t->seen[pid] != t->now - 1 || t->now == 1) {
		t->born[pid] = t->now;
		t->known[pid] = false;
	}
	t->seen[pid] = t->now;
	if (t->known[pid] ||
	    (t->now - t->born[pid] > YOUNG && (t->now + pid) % SELDOM != 0))
		return;
	if (!is_wrapper(pid, &w))
		return;
	if (!t->once)
		compare(t, &w);
	t->known[pid] = true;
	t->wrappers++;
	if (t->count < WRAPPERS_MAX)
		t->live[t->count++] = w;
}

/* Forgets processes that are gone and pids that another process has now. */
static void
forget(struct watch *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->seen[t->live[i].pid] == t->now &&
		    t->known[t->live[i].pid])
			t->live[kept++] = t->live[i];
	t->count = kept;
}

static int
sample(struct watch *t)
{
	DIR *d = opendir("/proc");
	const struct dirent *e;

	if (d == NULL)
		return -1;
	t->now++;
	while ((e = readdir(d)) != NULL) {
		long pid = isdigit((unsigned char)e->d_name[0])
		    ? strtol(e->d_name, NULL, 10)
		    : 0;

		if (pid > 0 && pid < PIDS_MAX)
			visit(t, pid);
	}
	closedir(d);
	forget(t);
	return 0;
}

static int
once(struct watch *t)
{
	t->once = true;
	if (sample(t) < 0)
		return EXIT_FAILURE;
	for (size_t i = 0; i < t->count; i++)
		printf("%s %s %s %ld %s\n", t->live[i].session,
		    t->live[i].generation, t->live[i].instance, t->live[i].pid,
		    t->live[i].cell);
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static struct watch t; /* static: its memory is no leak at exit */
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	t.seen = xcalloc(PIDS_MAX, sizeof(*t.seen));
	t.born = xcalloc(PIDS_MAX, sizeof(*t.born));
	t.known = xcalloc(PIDS_MAX, sizeof(*t.known));
	t.live = xcalloc(WRAPPERS_MAX, sizeof(*t.live));
	if (argc > 1 && str_equal(argv[1], "--once"))
		return once(&t);
	while (poll(&in, 1, PERIOD_MS) == 0)
		if (sample(&t) < 0)
			return EXIT_FAILURE;
	printf("samples=%" PRIu32 " wrappers=%ld doubles=%ld\n", t.now,
	    t.wrappers, t.doubles);
	return EXIT_SUCCESS;
}
