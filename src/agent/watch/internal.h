/*
 * internal.h: declares what the files of this room share, all under the lock of
 * watch.c.  A file calls only files to its left: dir.c < news.c < tree.c <
 * events.c < watch.c.
 *
 * Each watch has a tree of the directories it watches.  An inode has one watch
 * descriptor (wd) however often it is asked for.  So the wd identifies a known
 * directory, wherever it was moved.
 */
#ifndef SANDLEASE_AGENT_WATCH_INTERNAL_H
#define SANDLEASE_AGENT_WATCH_INTERNAL_H

#include <sys/stat.h>

#include "agent/watch/watch.h"

struct watch_dir {
	int wd;
	bool guard;   /* above the root: watched only for its removal */
	bool partial; /* was moved or unreadable: entries may be missing */
	bool leaving; /* moved from here; the new place is not known yet */
	struct watch *watch;
	struct watch_dir *parent, *children, *next, **prev;
	struct watch_dir *same_bucket;
	char name[]; /* in its parent; the topmost has an absolute path */
};

struct watch {
	struct watch_options options;
	char id[WATCH_ID_MAX];
	struct watch_dir *top;  /* the topmost guard, or the root */
	struct watch_dir *root; /* NULL: not watched at present */
	dev_t device;           /* of the root */
	ino_t ino;              /* of the root */
	const char *no_room;    /* the limit that was reached; NULL: none */
	int64_t held_until;     /* not ready before `consumed` is this */
	int64_t held_ms;        /* not ready before this time */

	int news;          /* eventfd of a stream; -1: a retained watch */
	bool untold;       /* `pending` has something to take */
	int64_t untold_ms; /* since this time */
	struct watch_news pending;

	int64_t cursor; /* counts changes, for versions */
	int64_t used_ms;
	struct watch *next;
};

/* ---- watch/dir.c */

/* All watches, and the inotify instance that they share. */
extern struct watches {
	struct watch *all;
	int inotify;      /* -1: nothing is watched */
	int64_t consumed; /* bytes read from inotify so far */
	size_t dirs;      /* in the trees of all watches */
} watches;

/* The directory `wd` in the tree of w; NULL: not there. */
struct watch_dir *watch_dir_find(const struct watch *w, int wd);

/* `parent` is NULL for the topmost, whose name is a path. */
struct watch_dir *watch_dir_add(struct watch *w, struct watch_dir *parent,
    const char *name, int wd);
/* Moves d with its subtree to `parent`.  Frees d: a new struct replaces it. */
void watch_dir_move(struct watch_dir *d, struct watch_dir *parent,
    const char *name);
void watch_dir_drop(struct watch_dir *d);
/* Drops the whole tree of w. */
void watch_tree_drop(struct watch *w);

/* Removes wd from inotify, unless a tree has it. */
void watch_dir_release(int wd);

/*
 * The path of d, or of `name` in d, relative to `above`; absolute if `above` is
 * NULL.  The path is in the buffer; NULL when it does not fit.
 */
enum { WATCH_PATH_MAX = 4096 };
const char *watch_path(const struct watch_dir *d, const struct watch_dir *above,
    const char *name, char buf[WATCH_PATH_MAX]);

/* ---- watch/news.c */

/* Whether the options exclude this path below the root. */
bool watch_excludes(const struct watch *w, const char *path);

/* Adds a change of `path`, below the root, if the options want it. */
void watch_note(struct watch *w, enum change_type type, bool directory,
    const char *path);

/* Marks that `pending` has something to take. */
void watch_mark_untold(struct watch *w);

/* Stops watching; the client of a stream gets `why`. */
void watch_stop(struct watch *w, const char *why);

/* Whether `pending` has something to take, and is not held back. */
bool watch_is_ready(const struct watch *w);

/* How long `pending` is still held back. */
int watch_held_ms(const struct watch *w);

/* Wakes the clients of all streams that are ready. */
void watch_announce(void);

/* ---- watch/tree.c */

/* Builds the tree of w, which must have none. */
int watch_tree_build(struct watch *w, struct err *e) MUST_CHECK;

/*
 * Adds the directory `name` of d to the tree: watches it, and notes its entries
 * as created.  If the tree has it at another place, only moves it.  May stop
 * the watch.
 */
void watch_tree_settle(struct watch *w, struct watch_dir *d, const char *name);
/* Marks the directory `name` of d as leaving. */
void watch_tree_leave(struct watch_dir *d, const char *name);

/* ---- watch/events.c */

/* Handles all events that inotify has queued until now. */
void watch_drain(void);

#endif
