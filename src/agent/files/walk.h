/*
 * walk.h: visits the entries of a tree, and never follows a symbolic link.
 *
 * Does not recurse, and keeps at most WALK_OPEN_MAX directories open: a tenant
 * can make a tree of any depth, and threads have small stacks.  The tree may
 * change during the walk: removed entries are not seen.
 */
#ifndef SANDLEASE_AGENT_FILES_WALK_H
#define SANDLEASE_AGENT_FILES_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/str.h"

enum { WALK_OPEN_MAX = 32, WALK_PATH_MAX = 4096 };

enum walk_step {
	WALK_ENTRY,  /* an entry; walk_enter() goes into a directory */
	WALK_UNSEEN, /* an entry that cannot be read; errno says why */
	WALK_LEFT,   /* the end of an entered directory, not of the top */
	WALK_END,
	WALK_LOST /* the rest cannot be read; errno ESTALE: it was moved */
};

struct walk {
	bool paths;     /* set `path`; stops entering at WALK_PATH_MAX */
	bool shrinking; /* the caller removes entries */
	bool types;     /* the caller needs only the type in `st` */

	/* The entry of walk_next(); WALK_LEFT: the directory itself. */
	int at;           /* the directory that has the entry */
	const char *name; /* in `at`; after WALK_LEFT only with `paths` */
	struct stat st;   /* not set for WALK_UNSEEN */
	struct buf path;  /* below the top: "a/b" */

	struct walk_level *level; /* this and the rest: only for walk.c */
	size_t depth, room;
};

#define auto_walk __attribute__((cleanup(walk_close)))

/* Begins in the directory `fd`, and closes fd later.  -1 with errno. */
int walk_open(struct walk *w, int fd);

enum walk_step walk_next(struct walk *w);

/* Goes into the entry just seen.  -1 with errno: walk_next() skips it. */
int walk_enter(struct walk *w);

void walk_close(struct walk *w);

#endif
