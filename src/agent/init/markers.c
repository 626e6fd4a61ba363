/* markers.c: finds wrappers outside any cell by their environment. */
#include "agent/init/markers.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { ENVIRON_MAX = 128 * 1024, STATUS_MAX = 4096 };

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

static bool
is_marked(int proc_dir, const char *pid, const char *session, char *environ,
    struct marked *out)
{
	char status[STATUS_MAX];
	int64_t n;
	size_t len;

	if (!str_to_int(pid, 2, INT32_MAX, &n) || n == getpid() ||
	    read_file(proc_dir, pid, "status", status, sizeof(status)) == 0 ||
	    !markers_is_outside(status))
		return false;
	len = read_file(proc_dir, pid, "environ", environ, ENVIRON_MAX);
	if (!markers_read(environ, len, session, out))
		return false;
	out->pid = (pid_t)n;
	return true;
}

typedef void visit_fn(void *ctx, const struct marked *m);

static void
visit_all(const char *session, visit_fn *visit, void *ctx)
{
	auto_free char *environ = xmalloc(ENVIRON_MAX);
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	struct marked m;

	if (proc == NULL)
		return; /* allowed: to find none proves nothing */
	while ((entry = readdir(proc)) != NULL)
		if (is_marked(dirfd(proc), entry->d_name, session, environ, &m))
			visit(ctx, &m);
	closedir(proc);
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
