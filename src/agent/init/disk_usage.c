/* disk_usage.c: measures how much of the disk each session uses. */
#include "agent/init/disk_usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/base/capability.h"
#include "agent/base/proctree.h"
#include "agent/cell/root.h"
#include "agent/files/walk.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	ENTRIES_MAX = 1000 * 1000,
	BUDGET_MS = 2000,
	SEEN_MAX = 1024,
	PARTS_ALWAYS = 3,
	PATH_BYTES = 256,
	BLOCK_BYTES = 512 /* the unit of st_blocks on every file system */
};

/* A file with several names counts for each name with a part of its size. */
static void
add_file(const struct stat *st, struct disk_usage *u)
{
	bool shared = st->st_nlink > 1 && !S_ISDIR(st->st_mode);
	int64_t names = shared ? (int64_t)st->st_nlink : 1;
	int64_t bytes = (int64_t)st->st_blocks * BLOCK_BYTES;

	if (bytes < USAGE_INODE_BYTES)
		bytes = USAGE_INODE_BYTES;
	u->bytes += bytes / names;
	u->inode_bytes += USAGE_INODE_BYTES / names;
}

static void
count_entry(struct walk *w, enum walk_step step, dev_t device,
    struct disk_usage *u)
{
	bool seen = step == WALK_ENTRY;

	if (seen && w->st.st_dev != device)
		return;
	if (seen) {
		add_file(&w->st, u);
		seen = !S_ISDIR(w->st.st_mode) || walk_enter(w) == 0;
	}
	/* an entry that was removed meanwhile needs no counting */
	u->whole = u->whole && (seen || errno == ENOENT);
}

void
disk_usage_tree(const char *path, struct disk_usage *u)
{
	auto_walk struct walk w = { 0 };
	struct stat st;
	enum walk_step step;

	if (lstat(path, &st) < 0) {
		u->whole = false;
		return;
	}
	if (walk_open(&w,
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) <
	    0) {
		u->whole = u->whole && errno == ENOENT;
		return;
	}
	while ((step = walk_next(&w)) != WALK_END) {
		if (step == WALK_LEFT)
			continue;
		if (step == WALK_LOST || u->entries == 0 ||
		    clock_left_ms(u->until) == 0) {
			u->whole = false;
			return;
		}
		u->entries--;
		count_entry(&w, step, st.st_dev, u);
	}
}

/* Files counted already: several processes may have inherited one file. */
struct seen_files {
	ino_t ino[SEEN_MAX];
	size_t count;
};

static bool
is_seen(const struct seen_files *s, ino_t ino)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->ino[i] == ino)
			return true;
	return false;
}

/* Beyond SEEN_MAX every file is new: to count twice is better than not. */
static bool
is_new(struct seen_files *s, ino_t ino)
{
	if (is_seen(s, ino))
		return false;
	if (s->count < SEEN_MAX)
		s->ino[s->count++] = ino;
	return true;
}

/* The search for unlinked files that one cell has open. */
struct file_search {
	dev_t device; /* the storage's */
	dev_t root;   /* of a writable root; else the same */
	struct seen_files seen;
	struct disk_usage *usage;
};

static bool
is_searched(const struct file_search *s, dev_t device)
{
	return device == s->device || device == s->root;
}

/*
 * Called after a failed system call: notes that something was not counted,
 * unless the process has ended meanwhile.
 */
static void
note_hidden(struct disk_usage *u)
{
	u->whole = u->whole && (errno == ENOENT || errno == ESRCH);
}

/*
 * Descriptors in a unix socket, sent and not received yet, keep files on the
 * disk that no process has open.  Such files cannot be counted.
 */
static void
look_for_sent(pid_t thread, const char *fd, struct disk_usage *u)
{
	auto_free char *line = NULL;
	char path[PATH_BYTES];
	unsigned int sent;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)thread, fd);
	f = fopen(path, "re");
	if (f == NULL) {
		note_hidden(u);
		return;
	}
	while (u->whole && getline(&line, &size, f) > 0)
		if (sscanf(line, "scm_fds: %u", &sent) == 1 && sent > 0)
			u->whole = false;
	fclose(f);
}

static void
count_descriptor(pid_t thread, const char *fd, const struct stat *st,
    struct file_search *s)
{
	if (S_ISSOCK(st->st_mode))
		look_for_sent(thread, fd, s->usage);
	else if (S_ISREG(st->st_mode) && st->st_nlink == 0 &&
	    is_searched(s, st->st_dev) && is_new(&s->seen, st->st_ino))
		add_file(st, s->usage);
}

/*
 * /proc/PID/fd of a process that is not dumpable (ssh-agent, sandlease-ws) cannot
 * be opened.  With CAP_SYS_PTRACE its fdinfo can be listed, and pidfd_getfd()
 * copies a descriptor.
 */
static void
count_undumpable(pid_t pid, struct file_search *s)
{
	char path[PATH_BYTES];
	auto_fd int process = (int)syscall(SYS_pidfd_open, pid, 0);
	const struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);
	d = process < 0 ? NULL : opendir(path);
	if (d == NULL) {
		note_hidden(s->usage);
		return;
	}
	while (s->usage->whole && (entry = readdir(d)) != NULL) {
		auto_fd int copy = -1;
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		copy = (int)syscall(SYS_pidfd_getfd, process,
		    (int)strtol(entry->d_name, NULL, 10), 0);
		if (copy >= 0 && fstat(copy, &st) == 0)
			count_descriptor(pid, entry->d_name, &st, s);
		else if (errno != EBADF) /* EBADF: closed meanwhile */
			note_hidden(s->usage);
		if (clock_left_ms(s->usage->until) == 0)
			s->usage->whole = false;
	}
	closedir(d);
}

static void
count_table(pid_t thread, struct file_search *s)
{
	char path[PATH_BYTES];
	const struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)thread);
	d = opendir(path);
	if (d == NULL && errno == EACCES)
		count_undumpable(thread, s);
	else if (d == NULL)
		note_hidden(s->usage);
	if (d == NULL)
		return;
	while ((entry = readdir(d)) != NULL) {
		struct stat st;

		if (clock_left_ms(s->usage->until) == 0) {
			s->usage->whole = false;
			break;
		}
		/* this link leads to the open file itself, not to a path */
		if (fstatat(dirfd(d), entry->d_name, &st, 0) == 0)
			count_descriptor(thread, entry->d_name, &st, s);
	}
	closedir(d);
}

static DIR *
open_threads(pid_t pid, struct disk_usage *u)
{
	char path[PATH_BYTES];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (d == NULL)
		note_hidden(u);
	return d;
}

/* Returns the next thread's id; 0: there are no more. */
static pid_t
next_thread(DIR *d)
{
	const struct dirent *entry;
	pid_t thread = 0;

	/* strtol() returns 0 for "." and ".." */
	while (thread == 0 && (entry = readdir(d)) != NULL)
		thread = (pid_t)strtol(entry->d_name, NULL, 10);
	return thread;
}

/*
 * Counts the files of each table of descriptors.  Threads share one table, but
 * a thread may have its own (unshare), and a thread that has ended has none: the
 * first thread may end before the others.
 */
static void
count_open(pid_t pid, struct file_search *s)
{
	pid_t thread, read = 0;
	DIR *d = open_threads(pid, s->usage);

	if (d == NULL)
		return;
	while ((thread = next_thread(d)) != 0) {
		if (read != 0 &&
		    syscall(SYS_kcmp, read, thread, KCMP_FILES, 0, 0) == 0)
			continue;
		count_table(thread, s);
		read = thread;
	}
	closedir(d);
}

/*
 * Reads a line of /proc/PID/maps: range, rights, offset, device, inode, path.
 * True, and sets *ino, for an unlinked file on one of the searched devices.
 */
static bool
is_nameless(const char *line, const struct file_search *s, ino_t *ino)
{
	static const char GONE[] = " (deleted)\n";
	size_t len = strlen(line);
	unsigned int major, minor;
	unsigned long number;

	if (len < sizeof(GONE) ||
	    !str_equal(line + len - (sizeof(GONE) - 1), GONE) ||
	    sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &number) != 3)
		return false;
	*ino = (ino_t)number;
	return is_searched(s, makedev(major, minor));
}

/*
 * Finds unlinked files that are mapped: a mapping keeps a file on the disk even
 * without a descriptor.  False if the thread has ended and has no memory.
 */
static bool
read_maps(pid_t thread, const struct file_search *s)
{
	struct disk_usage *u = s->usage;
	auto_free char *line = NULL;
	char path[PATH_BYTES];
	bool alive = false;
	size_t size = 0;
	FILE *f;
	ino_t ino;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)thread);
	f = fopen(path, "re");
	if (f == NULL) {
		note_hidden(u);
		return false;
	}
	while (u->whole && getline(&line, &size, f) > 0) {
		alive = true;
		if (clock_left_ms(u->until) == 0 ||
		    (is_nameless(line, s, &ino) && !is_seen(&s->seen, ino)))
			u->whole = false;
	}
	fclose(f);
	return alive;
}

/* Reads the maps of one living thread: all threads share their memory. */
static void
look_for_mapped(pid_t pid, const struct file_search *s)
{
	DIR *d = open_threads(pid, s->usage);
	pid_t thread;

	if (d == NULL)
		return;
	do
		thread = next_thread(d);
	while (thread != 0 && s->usage->whole && !read_maps(thread, s));
	closedir(d);
}

void
disk_usage_unlinked(pid_t cell, dev_t device, dev_t root, struct disk_usage *u)
{
	auto_tree struct proctree tree = { 0 };
	struct file_search s = { .device = device, .root = root, .usage = u };
	pid_t wrapper;

	proctree_take(cell, &tree);
	wrapper = proctree_first(&tree);
	/* skip the wrapper: its files cannot be read, and it is our program */
	for (size_t i = 0; i < tree.count; i++)
		if (tree.procs[i].pid != wrapper)
			count_open(tree.procs[i].pid, &s);
	for (size_t i = 0; i < tree.count && u->whole; i++)
		if (tree.procs[i].pid != wrapper)
			look_for_mapped(tree.procs[i].pid, &s);
}

/*
 * The device number of files in a cell's root: open files of an overlay have the
 * overlay's own number.  Returns `storage` if it cannot be read.
 */
static dev_t
root_device(const struct cell *c, dev_t storage)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root/", (int)c->pid);
	return stat(path, &st) == 0 ? st.st_dev : storage;
}

static json_t *
measure_cell(const struct cell *c, int64_t until)
{
	/* the last one exists only where the root is writable */
	static const char *const PARTS[] = { "workspace", "home", "backups",
		CELL_ROOT_PART };
	struct disk_usage u = { .whole = true,
		.entries = ENTRIES_MAX,
		.until = until };
	struct stat st = { 0 };
	char path[PATH_BYTES];

	for (size_t i = 0; i < ARRAY_LEN(PARTS); i++) {
		snprintf(path, sizeof(path), "/sessions/%s/%s", c->session,
		    PARTS[i]);
		if (i < PARTS_ALWAYS || access(path, F_OK) == 0)
			disk_usage_tree(path, &u);
	}
	snprintf(path, sizeof(path), "/sessions/%s", c->session);
	if (lstat(path, &st) == 0)
		disk_usage_unlinked(c->pid, st.st_dev,
		    root_device(c, st.st_dev), &u);
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:b}", "session",
	    c->session, "generation", (json_int_t)c->generation, "bytes",
	    (json_int_t)u.bytes, "files",
	    (json_int_t)(u.inode_bytes / USAGE_INODE_BYTES), "limitMb",
	    (json_int_t)c->disk_mb, "whole", (int)u.whole);
}

void
disk_usage_read_all(bool on)
{
	(void)!capability_use(CAP_DAC_READ_SEARCH, on);
	(void)!capability_use(CAP_SYS_PTRACE, on);
}

json_t *
disk_usage_cells(const struct cells *t)
{
	json_t *list = json_array();
	int64_t end = clock_ms() + BUDGET_MS;

	disk_usage_read_all(true);
	/* divide the time: a large cell must not use up that of the others */
	for (size_t i = 0; i < t->count; i++) {
		int64_t share = clock_left_ms(end) / (int64_t)(t->count - i);

		if (t->cell[i].freezer >= 0)
			continue; /* a frozen cell writes nothing now */
		json_array_append_new(list,
		    measure_cell(&t->cell[i], clock_ms() + share));
	}
	return list;
}
