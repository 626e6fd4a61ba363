/*
 * omit.h: what a backup leaves out.
 *
 * Patterns (glob.h), and paths as they are, which git knows to be ignored.  What
 * is in a directory that is left out is not looked at, and what somebody is just
 * writing (temp.h) is never a part of it.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_OMIT_H
#define SANDLEASE_AGENT_ARCHIVE_OMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

struct omit {
	struct buf text;       /* all of them, each ended by NUL */
	const char **patterns; /* into text, as are ... */
	const char **paths;    /* ... these, sorted */
	size_t pattern_count, path_count;
};

#define auto_omit __attribute__((cleanup(omit_free)))

/*
 * Reads it from fd to its end: patterns, an empty one, then paths, each ended
 * by NUL.  A slash at the end of one is as good as none.
 */
void omit_read(struct omit *o, int fd);

/* Whether `path`, below the directory, is one of them. */
bool omit_has(const struct omit *o, const char *path);

void omit_free(struct omit *o);

#endif
