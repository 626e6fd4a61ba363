/*
 * swap.h: a directory gets another content, all of it or nothing.
 *
 * What is new is made beside it, then the two change places in one step.  A
 * directory that should not be moved, where something is mounted or a shell
 * stands, changes entry by entry: the old ones go aside, the new ones come in, and what
 * fails is taken back.  A crash in between leaves both, in `.sl-ID/old` and
 * `.sl-ID/new` of that directory, and so does what cannot be taken back.
 */
#ifndef SANDLEASE_AGENT_FILES_SWAP_H
#define SANDLEASE_AGENT_FILES_SWAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/files/files.h"
#include "common/err.h"

enum { SWAP_PATH_MAX = FILES_TEMP_MAX + 8 };

struct swap {
	const char *dir;           /* borrowed; absolute, no link */
	const char *const *keeps;  /* borrowed */
	bool there, whole;         /* it exists; it is moved */
	bool stays;                /* the stage has what is nowhere else */
	mode_t mode;               /* of the directory itself */
	char stage[SWAP_PATH_MAX]; /* "" when there is nothing to drop */
	char fresh[SWAP_PATH_MAX]; /* the new content goes here */
};

#define auto_swap __attribute__((cleanup(swap_drop)))

/*
 * Begins.  What is at `keeps`, absolute paths up to NULL, will go over from the
 * old to the new content, where it is part of it.
 */
int swap_open(struct swap *s, const char *dir, const char *const *keeps,
    struct err *e) MUST_CHECK;

/* Now. */
int swap_commit(struct swap *s, struct err *e) MUST_CHECK;

/* Removes what is left beside it: the old content, or a new one not taken. */
void swap_drop(struct swap *s);

#endif
