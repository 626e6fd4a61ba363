/* usage.c: how much of the disk sessions use. */
#include "agent/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/proctree.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	OPEN_MAX = 32, /* directories at once */
	ENTRIES_MAX = 1000 * 1000,
	BUDGET_MS = 2000,
	SEEN_MAX = 1024,
	PATH_BYTES = 256,
	BLOCK_BYTES = 512 /* st_blocks counts these, whatever the file system */
};

/*
 * A directory on the way down.  Of a tree that is deeper than OPEN_MAX the upper
 * ones are closed meanwhile: depth costs memory only, within the budget.
 */
struct level {
	DIR *dir;  /* NULL: closed */
	ino_t ino; /* ... and what it was */
	long at;   /* ... and how much of it has been read */
};

struct walk {
	struct level *level;
	size_t depth, room;
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
put_aside(struct level *l)
{
	struct stat st = { 0 };

	(void)!fstat(dirfd(l->dir), &st); /* no directory has number 0 */
	l->ino = st.st_ino;
	l->at = telldir(l->dir);
	closedir(TAKE(l->dir));
}

/* By the way up from the one below; a tenant who moves things may bend that. */
static bool
take_up(const struct walk *w, struct level *l, int below)
{
	int fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->device ||
	    st.st_ino != l->ino || (l->dir = fdopendir(fd)) == NULL) {
		mem_close_fd(&fd);
		return false;
	}
	seekdir(l->dir, l->at);
	return true;
}

static void
enter(struct walk *w, int at, const char *name)
{
	int fd =
	    openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (d == NULL) {
		/* one that is gone meanwhile is no secret */
		w->u->whole = w->u->whole && errno == ENOENT;
		mem_close_fd(&fd);
		return;
	}
	if (w->depth == w->room) {
		w->room = 2 * w->room + OPEN_MAX;
		w->level = xrealloc(w->level, w->room * sizeof(*w->level));
	}
	w->level[w->depth++] = (struct level){ .dir = d };
	if (w->depth > OPEN_MAX)
		put_aside(&w->level[w->depth - 1 - OPEN_MAX]);
}

static void
abandon(struct walk *w)
{
	w->u->whole = false;
	while (w->depth > 0)
		if (w->level[--w->depth].dir != NULL)
			closedir(w->level[w->depth].dir);
}

static void
leave(struct walk *w)
{
	struct level *l = &w->level[w->depth - 1];

	if (w->depth > 1 && l[-1].dir == NULL &&
	    !take_up(w, &l[-1], dirfd(l->dir))) {
		abandon(w);
		return;
	}
	closedir(l->dir);
	w->depth--;
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
		DIR *d = w.level[w.depth - 1].dir;
		const struct dirent *entry = readdir(d);

		if (clock_left_ms(u->until) == 0 ||
		    (entry != NULL && u->entries == 0)) {
			abandon(&w);
		} else if (entry == NULL) {
			leave(&w);
		} else if (!str_equal(entry->d_name, ".") &&
		    !str_equal(entry->d_name, "..")) {
			u->entries--;
			count(&w, dirfd(d), entry->d_name);
		}
	}
	free(w.level);
}

/* Files that were counted already: processes inherit them from each other. */
struct seen {
	ino_t ino[SEEN_MAX];
	size_t count;
};

/* Beyond SEEN_MAX all are new: better twice than not at all. */
static bool
is_new(struct seen *s, ino_t ino)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->ino[i] == ino)
			return false;
	if (s->count < SEEN_MAX)
		s->ino[s->count++] = ino;
	return true;
}

static void
count_open(pid_t pid, dev_t device, struct seen *seen, struct usage *u)
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
	while ((entry = readdir(d)) != NULL) {
		struct stat st;

		if (clock_left_ms(u->until) == 0) {
			u->whole = false;
			break;
		}
		/* follows the kernel's own link to the open file, no path */
		if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0 &&
		    S_ISREG(st.st_mode) && st.st_nlink == 0 &&
		    st.st_dev == device && is_new(seen, st.st_ino))
			u->bytes += (int64_t)st.st_blocks * BLOCK_BYTES;
	}
	closedir(d);
}

void
usage_unlinked(pid_t cell, dev_t device, struct usage *u)
{
	auto_tree struct proctree tree = { 0 };
	struct seen seen = { .count = 0 };
	pid_t wrapper;

	proctree_take(cell, &tree);
	wrapper = proctree_first(&tree);
	/* the wrapper shows nobody what it has open; it is ours */
	for (size_t i = 0; i < tree.count; i++)
		if (tree.procs[i].pid != wrapper)
			count_open(tree.procs[i].pid, device, &seen, u);
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
