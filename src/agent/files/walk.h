/*
 * walk.h: a tree, entry by entry, never through a link.
 *
 * Without recursion and with WALK_OPEN_MAX directories open at most: a tree is
 * as deep as its tenant likes, and threads here have small stacks.  Meanwhile
 * it may change: what is gone is not seen.
 */
#ifndef SANDLEASE_AGENT_FILES_WALK_H
#define SANDLEASE_AGENT_FILES_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "common/str.h"

enum { WALK_OPEN_MAX = 32, WALK_PATH_MAX = 4096 };

enum walk_step {
	WALK_ENTRY,  /* walk_enter() if it is a directory that interests */
	WALK_UNSEEN, /* an entry that cannot be looked at; errno says why */
	WALK_LEFT,   /* all of a directory that was entered, not the top's */
	WALK_END,
	WALK_LOST /* the rest cannot be read; errno, ESTALE: it was moved */
};

struct walk {
	bool paths;     /* keep `path`; then no deeper than WALK_PATH_MAX */
	bool shrinking; /* the caller removes what it sees */
	bool types;     /* of `st` no more than the type is wanted */

	/* What walk_next() came to; WALK_LEFT: the directory itself. */
	int at;           /* the directory it is in */
	const char *name; /* there; WALK_LEFT: with `paths` only */
	struct stat st;   /* not of WALK_UNSEEN */
	struct buf path;  /* below the top: "a/b" */

	struct walk_level *level; /* the rest is walk.c's */
	size_t depth, room;
};

#define auto_walk __attribute__((cleanup(walk_close)))

/* Begins in the directory `fd`, which is taken over.  -1 with errno. */
int walk_open(struct walk *w, int fd);

enum walk_step walk_next(struct walk *w);

/* Goes into the directory just seen.  -1 with errno: past it. */
int walk_enter(struct walk *w);

void walk_close(struct walk *w);

#endif
