/* usage.c: how much of the disk sessions use. */
#include "agent/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/proctree.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	DEPTH_MAX = 128,
	ENTRIES_MAX = 1000 * 1000,
	BUDGET_MS = 2000,
	PATH_BYTES = 256,
	BLOCK_BYTES = 512 /* st_blocks counts these, whatever the file system */
};

struct walk {
	DIR *dir[DEPTH_MAX];
	int depth;
	dev_t device;
	struct usage *u;
};

/* Each name of a file with several has its share. */
static int64_t
share_of(const struct stat *st)
{
	return (int64_t)st->st_blocks * BLOCK_BYTES /
	    (st->st_nlink > 1 && !S_ISDIR(st->st_mode) ? (int64_t)st->st_nlink
						       : 1);
}

static void
enter(struct walk *w, int at, const char *name)
{
	int fd;
	DIR *d;

	if (w->depth == DEPTH_MAX) {
		w->u->whole = false;
		return;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	d = fd >= 0 ? fdopendir(fd) : NULL;
	if (d == NULL) {
		/* one that is gone meanwhile is no secret */
		w->u->whole = w->u->whole && errno == ENOENT;
		if (fd >= 0)
			close(fd);
		return;
	}
	w->dir[w->depth++] = d;
}

static void
count(struct walk *w, int at, const char *name)
{
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		w->u->whole = w->u->whole && errno == ENOENT;
		return;
	}
	if (st.st_dev != w->device)
		return;
	w->u->bytes += share_of(&st);
	if (S_ISDIR(st.st_mode))
		enter(w, at, name);
}

void
usage_tree(const char *path, struct usage *u)
{
	struct walk w = { .u = u };
	struct stat st;

	if (lstat(path, &st) < 0) {
		u->whole = false;
		return;
	}
	w.device = st.st_dev;
	enter(&w, AT_FDCWD, path);
	while (w.depth > 0) {
		DIR *d = w.dir[w.depth - 1];
		const struct dirent *entry = readdir(d);

		if (entry == NULL || u->entries == 0 ||
		    clock_left_ms(u->until) == 0) {
			u->whole = u->whole && entry == NULL;
			closedir(d);
			w.depth--;
			continue;
		}
		if (str_equal(entry->d_name, ".") ||
		    str_equal(entry->d_name, ".."))
			continue;
		u->entries--;
		count(&w, dirfd(d), entry->d_name);
	}
}

/* One process; what it shares with another is counted for both. */
static void
count_open(pid_t pid, dev_t device, struct usage *u)
{
	char path[PATH_BYTES];
	const struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (d == NULL) {
		/* a process that hides what it has open */
		u->whole = u->whole && errno == ENOENT;
		return;
	}
	while ((entry = readdir(d)) != NULL && clock_left_ms(u->until) > 0) {
		struct stat st;

		/* follows the kernel's own link to the open file, no path */
		if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode) && st.st_nlink == 0 &&
		    st.st_dev == device)
			u->bytes += (int64_t)st.st_blocks * BLOCK_BYTES;
	}
	closedir(d);
}

void
usage_unlinked(pid_t cell, dev_t device, struct usage *u)
{
	auto_tree struct proctree tree = { 0 };
	pid_t wrapper;

	proctree_take(cell, &tree);
	wrapper = proctree_first(&tree);
	/* the wrapper shows nobody what it has open; it is ours */
	for (size_t i = 0; i < tree.count; i++)
		if (tree.procs[i].pid != wrapper)
			count_open(tree.procs[i].pid, device, u);
}

static json_t *
measure(const struct cell *c, int64_t until)
{
	static const char *const PARTS[] = { "workspace", "home" };
	struct usage u = { .whole = true,
		.entries = ENTRIES_MAX,
		.until = until };
	struct stat st = { 0 };
	char path[PATH_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
		snprintf(path, sizeof(path), "/sessions/%s/%s", c->session,
		    PARTS[i]);
		usage_tree(path, &u);
	}
	if (lstat(path, &st) == 0)
		usage_unlinked(c->pid, st.st_dev, &u);
	return json_pack("{s:s, s:I, s:b}", "session", c->session, "bytes",
	    (json_int_t)u.bytes, "whole", (int)u.whole);
}

json_t *
usage_cells(const struct cells *t)
{
	json_t *list = json_array();
	int64_t end = clock_ms() + BUDGET_MS;

	/* each has its share of the time: one must not use up the others' */
	for (size_t i = 0; i < t->count; i++) {
		int64_t share = clock_left_ms(end) / (int64_t)(t->count - i);

		if (t->cell[i].freezer >= 0)
			continue; /* suspended: it writes nothing now */
		json_array_append_new(list,
		    measure(&t->cell[i], clock_ms() + share));
	}
	return list;
}
