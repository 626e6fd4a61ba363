/* tree.c: the directories that a watch sees. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include "agent/files/files.h"
#include "agent/files/walk.h"
#include "agent/watch/internal.h"
#include "common/clock.h"
#include "common/mem.h"

/* Added to what other watches want of the same directory. */
enum {
	GUARD_MASK = IN_MASK_ADD | IN_ONLYDIR | IN_DONT_FOLLOW | IN_MOVE_SELF |
	    IN_DELETE | IN_DELETE_SELF,
	DIR_MASK = GUARD_MASK | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO |
	    IN_ATTRIB | IN_EXCL_UNLINK
};

/* A file can be seen a moment before the kernel says that it was made. */
enum { HOLD_MS = 5 };

/* ---- what is looked at */

/* Whether there is nothing in the directory that would be told. */
static bool
is_pruned(const struct watch *w, const char *path)
{
	char inside[WATCH_PATH_MAX + 1];

	snprintf(inside, sizeof(inside), "%s/", path);
	return watch_excludes(w, inside);
}

/* ---- taking directories in */

static uint32_t
mask_of(const struct watch *w)
{
	bool contents = (w->options.types & 1u << CHANGE_MODIFY) != 0;

	return contents ? DIR_MASK | IN_MODIFY : DIR_MASK;
}

/*
 * The descriptor of the directory at that path.  -1 with errno when there is
 * none, or none that we may look at; that there is no room is noted too.
 */
static int
add_inotify(struct watch *w, const char *path, uint32_t mask)
{
	int wd = inotify_add_watch(watches.inotify, path, mask);

	if (wd < 0 && (errno == ENOSPC || errno == ENOMEM))
		w->no_room = "more directories than the kernel watches";
	return wd;
}

static struct watch_dir *
add_dir(struct watch *w, struct watch_dir *parent, const char *name, int wd)
{
	if (watches.dirs < WATCH_DIRS_MAX)
		return watch_dir_add(w, parent, name, wd);
	watch_dir_release(wd);
	w->no_room = "more directories than a session may watch";
	return NULL;
}

static bool
is_within(const struct watch_dir *d, const struct watch_dir *above)
{
	while (d != NULL && d != above)
		d = d->parent;
	return d != NULL;
}

/*
 * The directory of that descriptor is now `name` in d.  One that is new to the
 * watch is returned; one that we know was moved, with all that is in it.
 */
static struct watch_dir *
join_tree(struct watch *w, struct watch_dir *d, const char *name, int wd)
{
	struct watch_dir *known = watch_dir_find(w, wd);

	if (known == NULL)
		return add_dir(w, d, name, wd);
	/* a mount can show one in itself; a tree cannot */
	if (!is_within(d, known))
		watch_dir_move(known, d, name);
	return NULL;
}

/* ---- looking through one */

/* Whether that is no failure: it has gone, or is not for us to see. */
static bool
is_no_matter(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EACCES || error == ENAMETOOLONG;
}

/*
 * Something was not to be found in d: it has gone, or d is elsewhere by now,
 * which we shall hear, and has more in it than we know.
 */
static void
doubt_place(const struct watch *w, struct watch_dir *d)
{
	char buf[WATCH_PATH_MAX];
	const char *path = watch_path(d, NULL, NULL, buf);
	int wd = path != NULL
	    ? inotify_add_watch(watches.inotify, path, mask_of(w))
	    : -1;

	if (wd == d->wd)
		return;
	d->partial = true;
	if (wd >= 0)
		watch_dir_release(wd);
}

/*
 * An entry of `at`.  A directory is watched first and looked through then, so
 * that nothing in it is missed; what is told twice that way is one change, if
 * it has not been taken before both have come (held_until, held_ms).
 */
static struct watch_dir *
see_entry(struct watch *w, struct watch_dir *at, struct walk *k, bool tell)
{
	bool directory = S_ISDIR(k->st.st_mode);
	char buf[WATCH_PATH_MAX];
	const char *path = watch_path(at, w->root, k->name, buf);
	struct watch_dir *d;
	int wd;

	if (path == NULL || files_is_beside(k->name) || watch_excludes(w, path))
		return at;
	if (tell)
		watch_note(w, CHANGE_CREATE, directory, path);
	if (!directory || !w->options.recursive || is_pruned(w, path))
		return at;
	path = watch_path(at, NULL, k->name, buf);
	wd = path != NULL ? add_inotify(w, path, mask_of(w)) : -1;
	if (wd < 0) {
		doubt_place(w, at);
		return at;
	}
	d = join_tree(w, at, k->name, wd);
	if (d == NULL)
		return at;
	d->partial = walk_enter(k) < 0;
	if (d->partial && !is_no_matter(errno))
		w->no_room = "more than can be open at a time";
	return d->partial ? at : d;
}

/* All below d.  -1 when it could not be read to the end. */
static int
look_through(struct watch *w, struct watch_dir *d, bool tell)
{
	auto_walk struct walk k = { .paths = true, .types = true };
	char buf[WATCH_PATH_MAX];
	const char *path = watch_path(d, NULL, NULL, buf);
	enum walk_step step;
	int queued = 0;

	if (path == NULL)
		return 0;
	if (walk_open(&k,
		open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) <
	    0) {
		d->partial = true;
		return is_no_matter(errno) ? 0 : -1;
	}
	while ((step = walk_next(&k)) != WALK_END && step != WALK_LOST &&
	    w->no_room == NULL) {
		if (step == WALK_LEFT)
			d = d->parent;
		else if (step == WALK_ENTRY)
			d = see_entry(w, d, &k, tell);
	}
	ioctl(watches.inotify, FIONREAD, &queued);
	if (tell) {
		w->held_until = watches.consumed + queued;
		w->held_ms = clock_ms() + HOLD_MS;
	}
	return step == WALK_LOST || w->no_room != NULL ? -1 : 0;
}

static const char *
why_not(const struct watch *w)
{
	return w->no_room != NULL ? w->no_room
				  : "what is in a directory cannot be read";
}

static struct watch_dir *
child_of(const struct watch_dir *d, const char *name)
{
	struct watch_dir *c = d->children;

	while (c != NULL && !str_equal(c->name, name))
		c = c->next;
	return c;
}

void
watch_tree_leave(struct watch_dir *d, const char *name)
{
	struct watch_dir *c = child_of(d, name);

	if (c != NULL)
		c->leaving = true;
}

/* Whether something in it, or deeper, may have been missed. */
static bool
is_partial(const struct watch_dir *top)
{
	const struct watch_dir *d = top;

	while (!d->partial) {
		if (d->children != NULL) {
			d = d->children;
			continue;
		}
		while (d != top && d->next == NULL)
			d = d->parent;
		if (d == top)
			return false;
		d = d->next;
	}
	return true;
}

/*
 * One that we know and that has come to `path` was looked through while its old
 * path was wrong already: it is new to us, or what was missed would stay so.
 */
static int
forget_partial(struct watch *w, const struct watch_dir *d, const char *path,
    int wd)
{
	struct watch_dir *known = watch_dir_find(w, wd);

	if (known == NULL || is_within(d, known) || !is_partial(known))
		return wd;
	watch_dir_drop(known);
	return add_inotify(w, path, mask_of(w));
}

void
watch_tree_settle(struct watch *w, struct watch_dir *d, const char *name)
{
	struct watch_dir *known = child_of(d, name);
	char buf[WATCH_PATH_MAX];
	const char *path = watch_path(d, w->root, name, buf);
	int wd;

	if (path == NULL || is_pruned(w, path))
		return;
	path = watch_path(d, NULL, name, buf);
	wd = path != NULL ? add_inotify(w, path, mask_of(w)) : -1;
	if (known != NULL && known->wd == wd) {
		known->leaving = false;
		return;
	}
	/* what had the name is elsewhere now, or gone */
	if (wd >= 0 && known != NULL)
		watch_dir_drop(known);
	if (wd >= 0)
		wd = forget_partial(w, d, path, wd);
	if (wd >= 0) {
		d = join_tree(w, d, name, wd);
		if (d != NULL && look_through(w, d, true) < 0) {
			watch_stop(w, why_not(w));
			return;
		}
	} else {
		doubt_place(w, d);
	}
	if (w->no_room != NULL)
		watch_stop(w, w->no_room);
}

/* ---- the whole tree */

/* The way down to the root, which is at the end of it. */
static int
add_way(struct watch *w)
{
	char path[WATCH_PATH_MAX];
	char *end = path + strlen(w->options.top), cut;
	struct watch_dir *d = NULL;

	if (!str_copy(path, sizeof(path), w->options.real)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	do {
		int wd;

		cut = *end;
		*end = '\0';
		wd =
		    add_inotify(w, path, cut != '\0' ? GUARD_MASK : mask_of(w));
		if (wd < 0)
			return -1;
		d = add_dir(w, d, d == NULL ? path : strrchr(path, '/') + 1,
		    wd);
		if (d == NULL)
			return -1;
		d->guard = cut != '\0';
		if (w->top == NULL)
			w->top = d;
		*end = cut;
		end += cut != '\0' ? 1 + strcspn(end + 1, "/") : 0;
	} while (cut != '\0');
	w->root = d;
	return 0;
}

static int
build(struct watch *w, struct err *e)
{
	struct stat st;

	if (add_way(w) == 0 && lstat(w->options.real, &st) == 0) {
		w->device = st.st_dev;
		w->ino = st.st_ino;
		if (!w->options.recursive ||
		    look_through(w, w->root, false) == 0)
			return 0;
	} else if (w->no_room == NULL) {
		return files_fail(e, w->options.real);
	}
	return err_set(e, w->no_room != NULL ? ERR_LIMITED : ERR_INTERNAL,
	    CODE_WATCH_START_ERROR, "%.180s: %s", w->options.real, why_not(w));
}

int
watch_tree_build(struct watch *w, struct err *e)
{
	w->no_room = NULL;
	if (build(w, e) == 0)
		return 0;
	watch_tree_drop(w);
	return -1;
}
