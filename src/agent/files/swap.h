/*
 * swap.h: replaces the contents of a directory, all or nothing.
 *
 * The caller makes the new contents in a directory beside the old one, and one
 * atomic rename exchanges the two.  A directory that should not be moved,
 * because it is a mount point or a process's working directory, is changed
 * entry by entry: old entries move out, new entries move in, and a failure
 * moves them back.  A crash in between leaves both, in `.sl-ID/old` and
 * `.sl-ID/new` of that directory; so does a failure that cannot be undone.
 */
#ifndef SANDLEASE_AGENT_FILES_SWAP_H
#define SANDLEASE_AGENT_FILES_SWAP_H

#include <stdbool.h>
#include <sys/types.h>

#include "agent/files/files.h"
#include "common/err.h"

enum { SWAP_PATH_MAX = FILES_TEMP_MAX + 8 };

struct swap {
	const char *dir;           /* borrowed; absolute, not a symbolic link */
	const char *const *keeps;  /* borrowed; see swap_open() */
	bool there;                /* dir exists */
	bool whole;                /* dir itself is renamed */
	bool keep_stage;           /* the stage has the only copy of files */
	mode_t mode;               /* of dir */
	char stage[SWAP_PATH_MAX]; /* temporary directory; "": none to remove */
	char fresh[SWAP_PATH_MAX]; /* the caller puts the new contents here */
};

#define auto_swap __attribute__((cleanup(swap_drop)))

/*
 * Makes s->fresh.  Files at the paths `keeps` (absolute, up to NULL) that are
 * below `dir` will be moved from the old to the new contents.
 */
int swap_open(struct swap *s, const char *dir, const char *const *keeps,
    struct err *e) MUST_CHECK;

/* Exchanges the old and the new contents. */
int swap_commit(struct swap *s, struct err *e) MUST_CHECK;

/* Removes the stage: the old contents, or new ones that were not committed. */
void swap_drop(struct swap *s);

#endif
