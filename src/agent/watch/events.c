/* events.c: reads inotify's events and passes them to the watches. */
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/files/temp_file.h"
#include "agent/watch/internal.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum { BUFFER = 16 * 1024, TEMPS_MAX = 16 };

/* ---- files that the agent writes */

/*
 * The agent writes a file by renaming a temporary file.  Clients must not see
 * that rename: to them the file was created or modified.  `temps` has the
 * renames whose IN_MOVED_FROM was read; IN_MOVED_TO may come a little later.
 */
static struct {
	uint32_t cookie;
	enum change_type type;
} temps[TEMPS_MAX];
static size_t temp_next;

static void
note_temp_file(const struct inotify_event *ev)
{
	if ((ev->mask & IN_MOVED_FROM) == 0 || !files_is_beside(ev->name))
		return;
	temps[temp_next].cookie = ev->cookie;
	temps[temp_next].type =
	    temp_file_replaces(ev->name) ? CHANGE_MODIFY : CHANGE_CREATE;
	temp_next = (temp_next + 1) % TEMPS_MAX;
}

static enum change_type
arrival_of(const struct inotify_event *ev)
{
	for (size_t i = 0; i < TEMPS_MAX; i++)
		if (temps[i].cookie == ev->cookie)
			return temps[i].type;
	return CHANGE_MOVE_TO;
}

/* ---- one event, for one watch */

static enum change_type
type_of(const struct inotify_event *ev)
{
	static const struct {
		uint32_t bit;
		enum change_type type;
	} TYPES[] = {
		{ IN_CREATE, CHANGE_CREATE },
		{ IN_MODIFY, CHANGE_MODIFY },
		{ IN_DELETE, CHANGE_DELETE },
		{ IN_MOVED_FROM, CHANGE_MOVE_FROM },
		{ IN_ATTRIB, CHANGE_ATTRIB },
	};

	for (size_t i = 0; i < ARRAY_LEN(TYPES); i++)
		if ((ev->mask & TYPES[i].bit) != 0)
			return TYPES[i].type;
	return arrival_of(ev);
}

static void
handle_entry(struct watch *w, struct watch_dir *d,
    const struct inotify_event *ev)
{
	bool directory = (ev->mask & IN_ISDIR) != 0;
	char buf[WATCH_PATH_MAX];
	const char *path = watch_path(d, w->root, ev->name, buf);

	if (w->options.only != NULL) {
		if (str_equal(ev->name, w->options.only))
			watch_note(w, type_of(ev), directory, "");
		return;
	}
	if (path == NULL || files_is_beside(ev->name) ||
	    watch_excludes(w, path))
		return;
	watch_note(w, type_of(ev), directory, path);
	if (!directory || !w->options.recursive)
		return;
	if ((ev->mask & IN_MOVED_FROM) != 0)
		watch_tree_leave(d, ev->name);
	else if ((ev->mask & IN_DELETE) == 0)
		watch_tree_settle(w, d, ev->name);
}

static void
lose_root(struct watch *w, enum change_type type, const char *why)
{
	watch_note(w, type, w->options.only == NULL, "");
	watch_stop(w, why);
}

/*
 * Ends the watch, unless the root is still there: the event may be older than
 * the watch.
 */
static void
check_root(struct watch *w, enum change_type type, const char *why)
{
	struct stat st;

	if (lstat(w->options.real, &st) < 0 || st.st_dev != w->device ||
	    st.st_ino != w->ino)
		lose_root(w, type, why);
}

/* Above the root, only the removal or move of a directory counts. */
static void
handle_guard(struct watch *w, struct watch_dir *d,
    const struct inotify_event *ev)
{
	if ((ev->mask & IN_DELETE) != 0 && ev->len > 0 &&
	    str_equal(ev->name, d->children->name))
		check_root(w, CHANGE_DELETE, "the path was deleted");
	else if ((ev->mask & IN_MOVE_SELF) != 0)
		check_root(w, CHANGE_MOVE_FROM, "the path was moved");
	else if ((ev->mask & (IN_IGNORED | IN_UNMOUNT)) != 0)
		lose_root(w, CHANGE_DELETE, "the path was deleted");
}

static void
handle_root(struct watch *w, const struct inotify_event *ev)
{
	if ((ev->mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0)
		lose_root(w, CHANGE_DELETE, "the path was deleted");
	else if ((ev->mask & IN_MOVE_SELF) != 0)
		check_root(w, CHANGE_MOVE_FROM, "the path was moved");
	else if ((ev->mask & IN_ATTRIB) != 0 && w->options.only == NULL)
		watch_note(w, CHANGE_ATTRIB, true, "");
}

/*
 * Handles an event of the directory d itself, below the root.  IN_MOVE_SELF
 * comes after IN_MOVED_FROM and IN_MOVED_TO: if d is still leaving, its new
 * place is not watched.
 */
static void
handle_self(struct watch_dir *d, const struct inotify_event *ev)
{
	if ((ev->mask & (IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT)) != 0 ||
	    ((ev->mask & IN_MOVE_SELF) != 0 && d->leaving))
		watch_dir_drop(d);
}

/* ---- all events */

/* inotify's queue was full and events are lost: builds the tree anew. */
static void
rebuild_tree(struct watch *w)
{
	struct err e;

	if (w->root == NULL)
		return;
	watch_tree_drop(w);
	if (watch_tree_build(w, &e) < 0) {
		watch_stop(w,
		    w->no_room != NULL ? w->no_room : "the path was deleted");
		return;
	}
	w->cursor++;
	w->pending.lost = true;
	watch_mark_untold(w);
}

static void
route_event(const struct inotify_event *ev)
{
	if (ev->len > 0)
		note_temp_file(ev);
	for (struct watch *w = watches.all; w != NULL; w = w->next) {
		struct watch_dir *d;

		if ((ev->mask & IN_Q_OVERFLOW) != 0) {
			rebuild_tree(w);
			continue;
		}
		d = watch_dir_find(w, ev->wd);
		if (d == NULL)
			continue;
		if (d->guard)
			handle_guard(w, d, ev);
		else if (ev->len > 0)
			handle_entry(w, d, ev);
		else if (d == w->root)
			handle_root(w, ev);
		else
			handle_self(d, ev);
	}
}

void
watch_drain(void)
{
	static char buffer[BUFFER]
	    __attribute__((aligned(_Alignof(struct inotify_event))));
	const struct inotify_event *ev;
	int queued = 0;

	ioctl(watches.inotify, FIONREAD, &queued);
	for (int64_t end = watches.consumed + queued; watches.consumed < end;) {
		ssize_t n = read(watches.inotify, buffer, sizeof(buffer));

		if (n <= 0)
			break;
		watches.consumed += n;
		for (const char *p = buffer; p < buffer + n;
		     p += sizeof(*ev) + ev->len) {
			ev = (const struct inotify_event *)(const void *)p;
			route_event(ev);
		}
	}
}
