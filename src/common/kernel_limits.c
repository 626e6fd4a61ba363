/* kernel_limits.c: checks kernel limits that all sandboxes share. */
#include "common/kernel_limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/mem.h"

enum { TEXT_MAX = 512 };

/* `least` is far more than a machine full of sandboxes can use. */
static const struct limit {
	const char *path, *name;
	int64_t least;
	const char *what;
	bool zero_is_any; /* a value of 0 means no limit */
} LIMITS[] = {
	{ "fs/file-max", "fs.file-max", 100000000, "open files" },
	{ "kernel/pid_max", "kernel.pid_max", 4194304, "process numbers" },
	{ "kernel/pty/max", "kernel.pty.max", 65536, "terminals" },
	{ "fs/epoll/max_user_watches", "fs.epoll.max_user_watches", 1000000000,
	    "epoll watches" },
	{ "fs/inotify/max_user_instances", "fs.inotify.max_user_instances",
	    65536, "inotify instances" },
	{ "fs/inotify/max_user_watches", "fs.inotify.max_user_watches",
	    100000000, "inotify watches" },
	{ "fs/pipe-user-pages-soft", "fs.pipe-user-pages-soft", 100000000,
	    "pages of pipes", .zero_is_any = true },
	{ "net/ipv4/tcp_max_orphans", "net.ipv4.tcp_max_orphans", 10000000,
	    "closed connections that have data to send" },
};

static bool
read_number(const char *root, const char *path, int64_t *out)
{
	char name[TEXT_MAX];
	FILE *f;
	bool ok;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	f = fopen(name, "re");
	if (f == NULL)
		return false;
	ok = fscanf(f, "%" SCNd64, out) == 1;
	fclose(f);
	return ok;
}

size_t
kernel_limits_check(const char *root, void (*say)(const char *text))
{
	size_t small = 0;

	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++) {
		const struct limit *l = &LIMITS[i];
		char text[TEXT_MAX];
		int64_t value;

		if (!read_number(root, l->path, &value) || value >= l->least ||
		    (l->zero_is_any && value == 0))
			continue;
		snprintf(text, sizeof(text),
		    "%s is %" PRId64 " and should be at least %" PRId64
		    ": one session could use up all %s of the host",
		    l->name, value, l->least, l->what);
		say(text);
		small++;
	}
	return small;
}
