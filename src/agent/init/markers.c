/* markers.c: finds wrappers outside any cell by their environment. */
#include "agent/init/markers.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { ENVIRON_MAX = 128 * 1024, STATUS_MAX = 4096, NONE_MS = 100 };

/*
 * Other bytes in an instance may not be valid JSON text: the entry could not be
 * sent, and the process would stay hidden.
 */
static const char INSTANCE[] = "abcdefghijklmnopqrstuvwxyz0123456789";

static bool
value_of(const char *entry, const char *name, const char **value)
{
	size_t len = strlen(name);

	if (strncmp(entry, name, len) != 0 || entry[len] != '=')
		return false;
	*value = entry + len + 1;
	return true;
}

bool
markers_read(const char *env, size_t len, const char *session,
    struct marked *out)
{
	bool ours = false;

	*out = (struct marked){ 0 };
	for (const char *at = env, *v; at < env + len; at += strlen(at) + 1) {
		/* ignore an entry that was cut off */
		if (memchr(at, '\0', (size_t)(env + len - at)) == NULL)
			break;
		if (value_of(at, "SANDLEASE_SESSION_ID", &v))
			ours = str_equal(v, session);
		else if (value_of(at, "SANDLEASE_INSTANCE_ID", &v) &&
		    str_made_of(v, INSTANCE, 1, ID_MAX - 1))
			str_copy(out->instance, sizeof(out->instance), v);
		else if (value_of(at, "SANDLEASE_GENERATION", &v))
			(void)str_to_int(v, 1, INT64_MAX, &out->generation);
	}
	return ours;
}

bool
markers_is_outside(const char *status)
{
	const char *state = strstr(status, "\nState:\t");
	const char *ids = strstr(status, "\nNSpid:\t");
	size_t first;

	if (state == NULL || ids == NULL || strchr("ZX", state[8]) != NULL)
		return false;
	ids += strlen("\nNSpid:\t");
	first = strspn(ids, "0123456789");
	/* a second number would be the pid in a cell's namespace */
	return first > 0 && (ids[first] == '\n' || ids[first] == '\0');
}

/* Reads at most `size` - 1 bytes of a file in /proc; 0: it cannot be read. */
static size_t
read_file(int proc_dir, const char *pid, const char *name, char *to,
    size_t size)
{
	char path[64];
	auto_fd int fd = -1;
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "%.32s/%s", pid, name);
	fd = openat(proc_dir, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size - 1 &&
	    (n = read(fd, to + len, size - 1 - len)) > 0)
		len += (size_t)n;
	to[len] = '\0';
	return len;
}

/* Whether an entry of /proc is a process outside any cell, and not init. */
static bool
is_outside(int proc_dir, const char *name, pid_t *pid)
{
	char status[STATUS_MAX];
	int64_t n;

	if (!str_to_int(name, 2, INT32_MAX, &n) || n == getpid() ||
	    read_file(proc_dir, name, "status", status, sizeof(status)) == 0)
		return false;
	*pid = (pid_t)n;
	return markers_is_outside(status);
}

typedef void visit_fn(void *ctx, const struct marked *m);

/*
 * Until then no process is looked for, because there was none outside a cell a
 * moment ago, marked or not.  Such a process comes only from another one: init
 * starts none that lasts.  So the operations of one wave, which come for many
 * sessions at once, read /proc together once.
 */
static int64_t none_until_ms;

static void
visit_all(const char *session, visit_fn *visit, void *ctx)
{
	auto_free char *environ = NULL;
	const struct dirent *entry;
	bool any = false;
	DIR *proc;
	pid_t pid;

	if (clock_left_ms(none_until_ms) > 0)
		return;
	proc = opendir("/proc");
	if (proc == NULL)
		return; /* allowed: to find none proves nothing */
	environ = xmalloc(ENVIRON_MAX);
	while ((entry = readdir(proc)) != NULL) {
		struct marked m;
		size_t len;

		if (!is_outside(dirfd(proc), entry->d_name, &pid))
			continue;
		any = true;
		len = read_file(dirfd(proc), entry->d_name, "environ", environ,
		    ENVIRON_MAX);
		if (!markers_read(environ, len, session, &m))
			continue;
		m.pid = pid;
		visit(ctx, &m);
	}
	closedir(proc);
	if (!any)
		none_until_ms = clock_ms() + NONE_MS;
}

static void
send_signal(void *ctx, const struct marked *m)
{
	/* the kernel would have to reuse the pid within this moment */
	kill(m->pid, *(const int *)ctx);
}

void
markers_signal(const char *session, int signal)
{
	visit_all(session, send_signal, &signal);
}

static void
append_entry(void *ctx, const struct marked *m)
{
	json_t *list = ctx;

	if (json_array_size(list) < MARKED_MAX)
		json_array_append_new(list,
		    json_pack("{s:s, s:I}", "instance", m->instance,
			"generation", (json_int_t)m->generation));
}

void
markers_append(const char *session, json_t *list)
{
	visit_all(session, append_entry, list);
}
