/* trash.c: removes directory trees that a tenant made. */
#include "provider/host/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

enum {
	NAME_LEN = 24,
	DEPTH_MAX = 8, /* levels below the trash that are entered in place */
	DIR_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

/*
 * A directory with trees that wait to be unlinked: those of its entries whose
 * names begin with `prefix`.
 */
struct trash_dir {
	int dir;
	const char *prefix;
};

static const char LEFT_PREFIX[] = ".trash-";

static int
open_trash(const struct provider *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/trash", p->conf->state_dir);

	return file_dir(AT_FDCWD, path, 0700, e);
}

/* Moves dir/name into `t`, under a new random name. */
static int
move_to_trash(int dir, const char *name, const struct trash_dir *t)
{
	char random[NAME_LEN + 1], to[sizeof(LEFT_PREFIX) + NAME_LEN];

	id_random(random, NAME_LEN);
	snprintf(to, sizeof(to), "%s%s", t->prefix, random);
	if (renameat(dir, name, t->dir, to) == 0)
		return 0;
	/* the rename changes the entry's "..", so the entry must be writable */
	if (errno != EACCES ||
	    fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return renameat(dir, name, t->dir, to);
}

int
trash_take(const struct provider *p, int dir, const char *name, struct err *e)
{
	const struct trash_dir here = { dir, LEFT_PREFIX };
	auto_fd int trash = open_trash(p, e);

	if (trash < 0)
		return -1;
	if (move_to_trash(dir, name, &(struct trash_dir){ trash, "" }) == 0 ||
	    errno == ENOENT)
		return 0;
	/* `dir` is on another file system, maybe a full one: rename in place */
	if (errno == EXDEV && dir != AT_FDCWD &&
	    (move_to_trash(dir, name, &here) == 0 || errno == ENOENT))
		return 0;
	return err_errno(e, "moving %s into the trash", name);
}

static DIR *
open_entry(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | DIR_FLAGS);
	struct stat st;
	DIR *d;

	/* the service owns the directory and may change the tenant's mode */
	if (fd < 0 && errno == EACCES &&
	    fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(dir, name, O_RDONLY | DIR_FLAGS);
	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (d == NULL)
		close(fd);
	else if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		fchmod(fd, 0700);
	return d;
}

static bool
is_dots(const struct dirent *entry)
{
	return str_equal(entry->d_name, ".") || str_equal(entry->d_name, "..");
}

/*
 * Unlinks an entry that is not a directory, or an empty one.  False when it is
 * still there.
 */
static bool
unlink_entry(int dir, const struct dirent *entry)
{
	if (entry->d_type != DT_DIR &&
	    (unlinkat(dir, entry->d_name, 0) == 0 || errno == ENOENT))
		return true;
	return unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0 ||
	    errno == ENOENT;
}

static bool empty_dir(DIR *d, const struct trash_dir *t, int depth,
    int64_t deadline_ms, struct err *e);

/* Empties and removes dir/name.  False when the deadline is over before. */
static bool
remove_tree(int dir, const char *name, const struct trash_dir *t, int depth,
    int64_t deadline_ms, struct err *e)
{
	DIR *d = open_entry(dir, name);
	bool done;

	if (d == NULL) {
		/* ENOENT: another reaper has removed it since */
		if (errno != ENOENT)
			err_errno(e, "trash/%s", name);
		return true;
	}
	done = empty_dir(d, t, depth, deadline_ms, e);
	closedir(d);
	if (done && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		err_errno(e, "trash/%s", name);
	return done;
}

/*
 * Unlinks the entries of a directory.  A directory below the last level moves up
 * into `t` and is swept there like any other entry, so the depth of a tree does
 * not matter.  False when the deadline is over.
 */
static bool
empty_dir(DIR *d, const struct trash_dir *t, int depth, int64_t deadline_ms,
    struct err *e)
{
	int dir = dirfd(d);
	const struct dirent *entry;

	while ((entry = readdir(d)) != NULL) {
		if (is_dots(entry))
			continue;
		if (clock_left_ms(deadline_ms) == 0)
			return false;
		if (unlink_entry(dir, entry))
			continue;
		if (depth < DEPTH_MAX) {
			if (!remove_tree(dir, entry->d_name, t, depth + 1,
				deadline_ms, e))
				return false;
		} else if (move_to_trash(dir, entry->d_name, t) < 0 &&
		    errno != ENOENT) {
			err_errno(e, "trash");
		}
	}
	return true;
}

/*
 * Reads `t` once and removes its entries; *count says how many there were.
 * False when the deadline is over.
 */
static bool
sweep_once(const struct trash_dir *t, DIR *d, int64_t deadline_ms,
    size_t *count, struct err *e)
{
	const struct dirent *entry;

	*count = 0;
	while ((entry = readdir(d)) != NULL) {
		if (is_dots(entry) || !str_starts(entry->d_name, t->prefix))
			continue;
		++*count;
		if (clock_left_ms(deadline_ms) == 0)
			return false;
		if ((entry->d_type == DT_DIR || !unlink_entry(t->dir, entry)) &&
		    !remove_tree(t->dir, entry->d_name, t, 1, deadline_ms, e))
			return false;
	}
	return true;
}

static int
sweep_dir(const struct trash_dir *t, int64_t deadline_ms, bool *left,
    struct err *e)
{
	DIR *d;

	*left = true;
	e->kind = ERR_NONE;
	/* readdir() may have missed subdirectories that moved up: read again */
	for (size_t count = 1; count > 0 && e->kind == ERR_NONE;) {
		int again = openat(t->dir, ".", O_RDONLY | DIR_FLAGS);
		bool done;

		d = again >= 0 ? fdopendir(again) : NULL;
		if (d == NULL) {
			err_errno(e, "trash");
			mem_close_fd(&again);
			return -1;
		}
		done = sweep_once(t, d, deadline_ms, &count, e);
		closedir(d);
		if (!done)
			return e->kind == ERR_NONE ? 0 : -1;
		*left = count > 0;
	}
	return e->kind == ERR_NONE ? 0 : -1;
}

int
trash_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e)
{
	auto_fd int trash = open_trash(p, e);

	*left = true;
	if (trash < 0)
		return -1;
	return sweep_dir(&(struct trash_dir){ trash, "" }, deadline_ms, left,
	    e);
}

int
trash_sweep_here(int dir, int64_t deadline_ms, bool *left, struct err *e)
{
	return sweep_dir(&(struct trash_dir){ dir, LEFT_PREFIX }, deadline_ms,
	    left, e);
}
