/*
 * internal.h: what the files of watch.h share, all under the lock of watch.c.
 * They call each other in one direction only: dir.c < news.c < tree.c <
 * events.c < watch.c.
 *
 * Each watch has a tree of the directories it sees.  An inode has one watch
 * descriptor however often it is asked for: so the descriptor says whether a
 * directory is the one we know, wherever it has been moved.
 */
#ifndef SANDLEASE_AGENT_WATCH_INTERNAL_H
#define SANDLEASE_AGENT_WATCH_INTERNAL_H

#include <sys/stat.h>

#include "agent/watch/watch.h"

struct watch_dir {
	int wd;
	bool guard; /* above the root: looked at only for its going away */
	bool
	    partial; /* it was not where it was looked for, or not to be seen */
	bool leaving; /* moved from here; where to is not known yet */
	struct watch *watch;
	struct watch_dir *parent, *children, *next, **prev;
	struct watch_dir *same_bucket;
	char name[]; /* in its parent; the topmost has a path */
};

struct watch {
	struct watch_options options;
	char id[WATCH_ID_MAX];
	struct watch_dir *top;  /* the topmost guard, or the root */
	struct watch_dir *root; /* NULL: it is not watched now */
	dev_t device;           /* the root's */
	ino_t ino;
	const char *no_room; /* why a directory could not be added; NULL */
	int64_t held_until;  /* not to be taken before so much has been read */
	int64_t held_ms;     /* ... nor before that time */

	int news;          /* an eventfd; -1: a retained one */
	bool untold;       /* there is something to take */
	int64_t untold_ms; /* ... since then */
	struct watch_news pending;

	int64_t cursor; /* of a retained one: how much has happened */
	int64_t used_ms;
	struct watch *next;
};

/* ---- watch/dir.c */

/* All watches, and the inotify instance that they share. */
extern struct watches {
	struct watch *all;
	int inotify;      /* -1: nothing is watched */
	int64_t consumed; /* bytes that have been read from it */
	size_t dirs;      /* how many all watches have in their trees */
} watches;

/* The directory `wd` as w sees it; NULL: it does not. */
struct watch_dir *watch_dir_find(const struct watch *w, int wd);

/* `parent` is NULL for the topmost, whose name is a path. */
struct watch_dir *watch_dir_add(struct watch *w, struct watch_dir *parent,
    const char *name, int wd);
/* To another place, with all that is in it; d is no more. */
void watch_dir_move(struct watch_dir *d, struct watch_dir *parent,
    const char *name);
void watch_dir_drop(struct watch_dir *d);
/* All that w sees. */
void watch_tree_drop(struct watch *w);

/* The kernel forgets the descriptor if no watch sees it any more. */
void watch_dir_release(int wd);

/*
 * The path of d, or of `name` in it, below `above` or, if that is NULL,
 * absolute; in the buffer, NULL when it does not fit.
 */
enum { WATCH_PATH_MAX = 4096 };
const char *watch_path(const struct watch_dir *d, const struct watch_dir *above,
    const char *name, char buf[WATCH_PATH_MAX]);

/* ---- watch/news.c */

/* Whether a path below the root is not looked at. */
bool watch_excludes(const struct watch *w, const char *path);

/* Adds a change of `path`, below the root, if that is wanted. */
void watch_note(struct watch *w, enum change_type type, bool directory,
    const char *path);

/* There is something to take from now on. */
void watch_mark_untold(struct watch *w);

/* Nothing more is seen. */
void watch_stop(struct watch *w, const char *why);

/* Whether there is something to take, and it may be. */
bool watch_is_ready(const struct watch *w);

/* How long it may still be held back. */
int watch_held_ms(const struct watch *w);

/* Tells the streams that are ready. */
void watch_announce(void);

/* ---- watch/tree.c */

/* Watches the wish's directories, which must not be watched yet. */
int watch_tree_build(struct watch *w, struct err *e) MUST_CHECK;

/*
 * There is a directory `name` in d: it is watched from now on, and what is in
 * it told, unless we know it from another place.  May stop the watch.
 */
void watch_tree_settle(struct watch *w, struct watch_dir *d, const char *name);
/* It is on its way to another place. */
void watch_tree_leave(struct watch_dir *d, const char *name);

/* ---- watch/events.c */

/* Handles all that has happened until now. */
void watch_drain(void);

#endif
