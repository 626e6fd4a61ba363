/* tree.c: builds the tree of directories of a watch, and keeps it current. */
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

/* IN_MASK_ADD: other watches may want other events of the same directory. */
enum {
	GUARD_MASK = IN_MASK_ADD | IN_ONLYDIR | IN_DONT_FOLLOW | IN_MOVE_SELF |
	    IN_DELETE | IN_DELETE_SELF,
	DIR_MASK = GUARD_MASK | IN_CREATE | IN_MOVED_FROM | IN_MOVED_TO |
	    IN_ATTRIB | IN_EXCL_UNLINK
};

/* readdir() can show a new file a moment before inotify has its event. */
enum { HOLD_MS = 5 };

/* ---- exclusion */

/* Whether the options exclude everything in the directory. */
static bool
is_pruned(const struct watch *w, const char *path)
{
	char inside[WATCH_PATH_MAX + 1];

	snprintf(inside, sizeof(inside), "%s/", path);
	return watch_excludes(w, inside);
}

/* ---- adding directories */

static uint32_t
mask_of(const struct watch *w)
{
	bool contents = (w->options.types & 1u << CHANGE_MODIFY) != 0;

	return contents ? DIR_MASK | IN_MODIFY : DIR_MASK;
}

/*
 * Watches the directory at `path` and returns its wd.  -1 with errno when there
 * is none or it may not be read.  Sets w->no_room at the kernel's limit.
 */
static int
add_inotify(struct watch *w, const char *path, uint32_t mask)
{
	int wd = inotify_add_watch(watches.inotify, path, mask);

	if (wd < 0 && (errno == ENOSPC || errno == ENOMEM))
		w->no_room =
		    "there are more directories than the kernel can watch";
	return wd;
}

static struct watch_dir *
add_dir(struct watch *w, struct watch_dir *parent, const char *name, int wd)
{
	if (watches.dirs < WATCH_DIRS_MAX)
		return watch_dir_add(w, parent, name, wd);
	watch_dir_release(wd);
	w->no_room = "there are more directories than a session may watch";
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
 * Puts the directory wd at `name` in d.  Returns it if it is new to the tree;
 * if the tree knows it, moves it with its subtree and returns NULL.
 */
static struct watch_dir *
join_tree(struct watch *w, struct watch_dir *d, const char *name, int wd)
{
	struct watch_dir *known = watch_dir_find(w, wd);

	if (known == NULL)
		return add_dir(w, d, name, wd);
	/* a bind mount can show a directory in itself; the tree cannot */
	if (!is_within(d, known))
		watch_dir_move(known, d, name);
	return NULL;
}

/* ---- reading a directory */

/* True if the directory is gone or not readable, which is no failure. */
static bool
is_gone_or_closed(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EACCES || error == ENAMETOOLONG;
}

/*
 * An entry of d was not found: the entry is gone, or d was moved.  If d was
 * moved, marks it partial: it may have entries that the tree lacks.  The event
 * of the move will follow.
 */
static void
check_place(const struct watch *w, struct watch_dir *d)
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
 * Handles the entry k of `at`, and returns the directory where the walk goes
 * on.  A directory is watched first and read then, so that no entry is missed.
 * An entry may be noted twice that way.  That is still one change if the client
 * takes it only after both (held_until, held_ms).
 */
static struct watch_dir *
visit_entry(struct watch *w, struct watch_dir *at, struct walk *k, bool tell)
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
		check_place(w, at);
		return at;
	}
	d = join_tree(w, at, k->name, wd);
	if (d == NULL)
		return at;
	d->partial = walk_enter(k) < 0;
	if (d->partial && !is_gone_or_closed(errno))
		w->no_room = "too many files are open";
	return d->partial ? at : d;
}

/* Adds all below d; `tell`: notes entries as created.  -1 if incomplete. */
static int
read_below(struct watch *w, struct watch_dir *d, bool tell)
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
		return is_gone_or_closed(errno) ? 0 : -1;
	}
	while ((step = walk_next(&k)) != WALK_END && step != WALK_LOST &&
	    w->no_room == NULL) {
		if (step == WALK_LEFT)
			d = d->parent;
		else if (step == WALK_ENTRY)
			d = visit_entry(w, d, &k, tell);
	}
	ioctl(watches.inotify, FIONREAD, &queued);
	if (tell) {
		w->held_until = watches.consumed + queued;
		w->held_ms = clock_ms() + HOLD_MS;
	}
	return step == WALK_LOST || w->no_room != NULL ? -1 : 0;
}

static const char *
failure_text(const struct watch *w)
{
	return w->no_room != NULL ? w->no_room : "a directory cannot be read";
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

/* Whether entries of `top` or below may have been missed. */
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
 * Drops the directory wd, now at `path`, if the tree has it at another place
 * and partial: it was read while its old path was wrong already.  It then
 * counts as new and is read again; otherwise the missed entries would stay
 * missed.  Returns the wd.
 */
static int
drop_partial(struct watch *w, const struct watch_dir *d, const char *path,
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
	/* the directory that had this name was moved or removed */
	if (wd >= 0 && known != NULL)
		watch_dir_drop(known);
	if (wd >= 0)
		wd = drop_partial(w, d, path, wd);
	if (wd >= 0) {
		d = join_tree(w, d, name, wd);
		if (d != NULL && read_below(w, d, true) < 0) {
			watch_stop(w, failure_text(w));
			return;
		}
	} else {
		check_place(w, d);
	}
	if (w->no_room != NULL)
		watch_stop(w, w->no_room);
}

/* ---- the whole tree */

/* Adds the directories from options.top (guards) down to the root. */
static int
add_path_to_root(struct watch *w)
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
try_build(struct watch *w, struct err *e)
{
	struct stat st;

	if (add_path_to_root(w) == 0 && lstat(w->options.real, &st) == 0) {
		w->device = st.st_dev;
		w->ino = st.st_ino;
		if (!w->options.recursive || read_below(w, w->root, false) == 0)
			return 0;
	} else if (w->no_room == NULL) {
		return files_fail(e, w->options.real);
	}
	return err_set(e, w->no_room != NULL ? ERR_LIMITED : ERR_INTERNAL,
	    CODE_WATCH_START_ERROR, "%.180s: %s", w->options.real,
	    failure_text(w));
}

int
watch_tree_build(struct watch *w, struct err *e)
{
	w->no_room = NULL;
	if (try_build(w, e) == 0)
		return 0;
	watch_tree_drop(w);
	return -1;
}
