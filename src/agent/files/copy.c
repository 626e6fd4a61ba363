/* copy.c: copies a tree. */
#include "agent/files/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "agent/files/tree.h"
#include "agent/files/walk.h"
#include "common/mem.h"

enum { CHUNK = 65536, OWN_MODE = 0700 };

/* An entry: a directory's descriptor and a name in it. */
struct place {
	int at;
	const char *name;
};

/* ---- files with several names */

/* A file with several names; `path`: its first copy, below the top. */
struct first_name {
	dev_t dev;
	ino_t ino;
	char path[];
};

static int
compare_file(const void *a, const void *b)
{
	const struct first_name *x = a, *y = b;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	return x->dev == y->dev ? 0 : x->dev < y->dev ? -1 : 1;
}

static void
free_firsts(void **firsts)
{
	tdestroy(*firsts, free);
}

#define auto_firsts __attribute__((cleanup(free_firsts)))

/* 1: made `name` a hard link to the copy; 0: the file is not copied yet. */
static int
link_if_copied(void **firsts, int to, const char *name, const struct stat *st)
{
	struct first_name *f;
	void *found;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 0;
	f = xcalloc(1, sizeof(*f) + strlen(name) + 1);
	f->dev = st->st_dev;
	f->ino = st->st_ino;
	memcpy(f->path, name, strlen(name) + 1);
	found = *(void **)tsearch(f, firsts, compare_file);
	if (found == f)
		return 0;
	free(f);
	f = found;
	return linkat(to, f->path, to, name, 0) < 0 ? -1 : 1;
}

/* ---- one entry */

static int
set_times(struct place p, const struct stat *st)
{
	struct timespec times[2] = { st->st_atim, st->st_mtim };

	return utimensat(p.at, p.name, times, AT_SYMLINK_NOFOLLOW);
}

/* Copies the bytes from `begin` to `end` to the same offset of `out`. */
static int
copy_range(int in, int out, off_t begin, off_t end, char *buf)
{
	if (lseek(in, begin, SEEK_SET) < 0 || lseek(out, begin, SEEK_SET) < 0)
		return -1;
	while (begin < end) {
		ssize_t by_kernel = copy_file_range(in, NULL, out, NULL,
		    (size_t)(end - begin), 0);

		if (by_kernel <= 0)
			break; /* end of file or an error: read() finds out */
		begin += by_kernel;
	}
	while (begin < end) {
		size_t want =
		    end - begin < CHUNK ? (size_t)(end - begin) : CHUNK;
		ssize_t n = read(in, buf, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		if (files_put(out, buf, (size_t)n) < 0)
			return -1;
		begin += n;
	}
	return 0;
}

/* Keeps holes: a sparse file may be larger than the disk. */
static int
copy_bytes(int in, int out)
{
	auto_free char *buf = xmalloc(CHUNK);
	struct stat st;
	off_t hole = 0;

	if (ioctl(out, FICLONE, in) == 0)
		return 0; /* both share the blocks, copy on write */
	for (;;) {
		off_t data = lseek(in, hole, SEEK_DATA);

		if (data < 0 && errno == ENXIO)
			return fstat(in, &st) < 0 ? -1
						  : ftruncate(out, st.st_size);
		if (data < 0)
			return -1;
		hole = lseek(in, data, SEEK_HOLE);
		if (hole < 0 || copy_range(in, out, data, hole, buf) < 0)
			return -1;
	}
}

static int
copy_file(struct place from, struct place to, const struct stat *st)
{
	auto_fd int in = openat(from.at, from.name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_fd int out = -1;

	if (in < 0)
		return -1;
	out = openat(to.at, to.name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (out < 0 || copy_bytes(in, out) < 0)
		return -1;
	return fchmod(out, st->st_mode & 07777);
}

static int
copy_link(struct place from, struct place to)
{
	auto_free char *target = xmalloc(PATH_MAX);
	ssize_t n = readlinkat(from.at, from.name, target, PATH_MAX - 1);

	if (n < 0)
		return -1;
	target[n] = '\0';
	return symlinkat(target, to.at, to.name);
}

/* Copies one entry, a directory without its contents.  -1 with errno. */
static int
copy_one(struct place from, struct place to, const struct stat *st)
{
	int rc;

	if (S_ISDIR(st->st_mode)) /* finish_dir() sets mode and times */
		return mkdirat(to.at, to.name, OWN_MODE);
	if (S_ISREG(st->st_mode))
		rc = copy_file(from, to, st);
	else if (S_ISLNK(st->st_mode))
		rc = copy_link(from, to);
	else if ((rc = mknodat(to.at, to.name, st->st_mode, st->st_rdev)) == 0)
		rc = fchmodat(to.at, to.name, st->st_mode & 07777, 0);
	return rc < 0 ? -1 : set_times(to, st);
}

static int
finish_dir(struct place p, const struct stat *st)
{
	if (fchmodat(p.at, p.name, st->st_mode & 07777, 0) < 0)
		return -1;
	return set_times(p, st);
}

/* ---- all of them */

static int
copy_step(struct walk *w, enum walk_step step, int to, void **firsts)
{
	struct place from = { w->at, w->name }, copy = { to, w->path.data };
	int linked;

	if (step == WALK_LEFT)
		return finish_dir(copy, &w->st);
	if (step != WALK_ENTRY)
		return -1;
	linked = link_if_copied(firsts, to, w->path.data, &w->st);
	if (linked != 0)
		return linked < 0 ? -1 : 0;
	if (copy_one(from, copy, &w->st) < 0)
		return -1;
	return S_ISDIR(w->st.st_mode) ? walk_enter(w) : 0;
}

/* Copies the contents of the directory `from` into the directory `to`. */
static int
copy_inside(struct place from, struct place to, struct err *e)
{
	auto_walk struct walk w = { .paths = true };
	auto_fd int dir =
	    openat(to.at, to.name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_firsts void *firsts = NULL;
	enum walk_step step;

	if (dir < 0 ||
	    walk_open(&w,
		openat(from.at, from.name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return files_fail(e, from.name);
	while ((step = walk_next(&w)) != WALK_END) {
		if (step == WALK_UNSEEN && errno == ENOENT)
			continue;
		if (copy_step(&w, step, dir, &firsts) < 0)
			return files_fail(e,
			    w.path.data != NULL ? w.path.data : from.name);
	}
	return 0;
}

int
copy_tree(const char *from, const char *to, struct err *e)
{
	struct place source = { AT_FDCWD, from }, copy = { AT_FDCWD, to };
	struct stat st;

	if (lstat(from, &st) < 0 || copy_one(source, copy, &st) < 0)
		return files_fail(e, from);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (copy_inside(source, copy, e) < 0)
		return -1;
	return finish_dir(copy, &st) < 0 ? files_fail(e, from) : 0;
}

/* Makes all directories writable, so that tree_remove() can empty them. */
static void
make_dirs_writable(const char *path)
{
	auto_walk struct walk w = { .paths = true };
	enum walk_step step;

	(void)!chmod(path, OWN_MODE);
	if (walk_open(&w,
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) <
	    0)
		return;
	while ((step = walk_next(&w)) != WALK_END && step != WALK_LOST)
		if (step == WALK_ENTRY && S_ISDIR(w.st.st_mode) &&
		    fchmodat(w.at, w.name, OWN_MODE, 0) == 0)
			(void)!walk_enter(&w);
}

void
copy_drop(const char *path)
{
	struct err ignored;
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode))
		make_dirs_writable(path);
	(void)!tree_remove(path, &ignored);
}
