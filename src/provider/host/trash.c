/* trash.c: removing trees that a tenant made. */
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

enum { NAME_LEN = 24, DIR_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Where trees are unlinked: whatever in `dir` has a name that begins so. */
struct heap {
	int dir;
	const char *prefix;
};

static const char HERE[] = ".trash-";

static int
open_trash(const struct provider *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/trash", p->conf->state_dir);

	return file_dir(AT_FDCWD, path, 0700, e);
}

/* Moves an entry to the top of a heap under a name of its own. */
static int
move(int dir, const char *name, const struct heap *h)
{
	char random[NAME_LEN + 1], to[sizeof(HERE) + NAME_LEN];

	id_random(random, NAME_LEN);
	snprintf(to, sizeof(to), "%s%s", h->prefix, random);
	if (renameat(dir, name, h->dir, to) == 0)
		return 0;
	/* a directory changes its "..", for which it must be writable */
	if (errno != EACCES ||
	    fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	return renameat(dir, name, h->dir, to);
}

int
trash_take(const struct provider *p, int dir, const char *name, struct err *e)
{
	const struct heap here = { dir, HERE };
	auto_fd int trash = open_trash(p, e);

	if (trash < 0)
		return -1;
	if (move(dir, name, &(struct heap){ trash, "" }) == 0 ||
	    errno == ENOENT)
		return 0;
	/* another file system, full perhaps: a new name is all it can have */
	if (errno == EXDEV && dir != AT_FDCWD &&
	    (move(dir, name, &here) == 0 || errno == ENOENT))
		return 0;
	return err_errno(e, "moving %s into the trash", name);
}

static DIR *
open_entry(int trash, const char *name)
{
	int fd = openat(trash, name, O_RDONLY | DIR_FLAGS);
	DIR *d;

	/* it is ours, whatever mode the tenant gave it */
	if (fd < 0 && errno == EACCES &&
	    fchmodat(trash, name, 0700, AT_SYMLINK_NOFOLLOW) == 0)
		fd = openat(trash, name, O_RDONLY | DIR_FLAGS);
	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (d == NULL)
		close(fd);
	else
		fchmod(fd, 0700);
	return d;
}

/*
 * Unlinks what a directory holds; directories in it are lifted to the top of
 * the heap, where they are entries like any other: depth costs nothing.
 * False when the deadline is over.
 */
static bool
empty(DIR *d, const struct heap *h, int64_t deadline_ms, struct err *e)
{
	int dir = dirfd(d);
	const struct dirent *entry;

	while ((entry = readdir(d)) != NULL) {
		if (str_equal(entry->d_name, ".") ||
		    str_equal(entry->d_name, ".."))
			continue;
		if (clock_left_ms(deadline_ms) == 0)
			return false;
		if (unlinkat(dir, entry->d_name, 0) == 0 ||
		    (errno != EISDIR && errno != EPERM) ||
		    unlinkat(dir, entry->d_name, AT_REMOVEDIR) == 0)
			continue;
		if (move(dir, entry->d_name, h) < 0 && errno != ENOENT)
			err_errno(e, "trash");
	}
	return true;
}

/* False when the deadline is over before the entry is gone. */
static bool
remove_entry(const struct heap *h, const char *name, int64_t deadline_ms,
    struct err *e)
{
	DIR *d;
	bool done;

	if (unlinkat(h->dir, name, 0) == 0 || errno == ENOENT ||
	    unlinkat(h->dir, name, AT_REMOVEDIR) == 0)
		return true;
	d = open_entry(h->dir, name);
	if (d == NULL) {
		/* ENOENT: another reaper has removed it since */
		if (errno != ENOENT)
			err_errno(e, "trash/%s", name);
		return true;
	}
	done = empty(d, h, deadline_ms, e);
	closedir(d);
	if (done && unlinkat(h->dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		err_errno(e, "trash/%s", name);
	return done;
}

/* One look at the top of a heap: *count entries were there. */
static bool
sweep_once(const struct heap *h, DIR *d, int64_t deadline_ms, size_t *count,
    struct err *e)
{
	const struct dirent *entry;

	*count = 0;
	while ((entry = readdir(d)) != NULL) {
		if (str_equal(entry->d_name, ".") ||
		    str_equal(entry->d_name, "..") ||
		    !str_starts(entry->d_name, h->prefix))
			continue;
		++*count;
		if (clock_left_ms(deadline_ms) == 0 ||
		    !remove_entry(h, entry->d_name, deadline_ms, e))
			return false;
	}
	return true;
}

static int
sweep(const struct heap *h, int64_t deadline_ms, bool *left, struct err *e)
{
	DIR *d;

	*left = true;
	e->kind = ERR_NONE;
	/* lifted directories may come behind the reader: look again */
	for (size_t count = 1; count > 0 && e->kind == ERR_NONE;) {
		int again = openat(h->dir, ".", O_RDONLY | DIR_FLAGS);
		bool done;

		d = again >= 0 ? fdopendir(again) : NULL;
		if (d == NULL) {
			err_errno(e, "trash");
			mem_close_fd(&again);
			return -1;
		}
		done = sweep_once(h, d, deadline_ms, &count, e);
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
	return sweep(&(struct heap){ trash, "" }, deadline_ms, left, e);
}

int
trash_sweep_here(int dir, int64_t deadline_ms, bool *left, struct err *e)
{
	return sweep(&(struct heap){ dir, HERE }, deadline_ms, left, e);
}
