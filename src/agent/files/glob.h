/*
 * glob.h: patterns of paths, with `*`, `**` and `?` and nothing else.
 *
 * One without a slash means a name at any depth; one with a slash begins where
 * the watching begins.  What matches a directory matches all that is in it.
 */
#ifndef SANDLEASE_AGENT_FILES_GLOB_H
#define SANDLEASE_AGENT_FILES_GLOB_H

#include <stdbool.h>

enum { GLOB_MAX = 256 }; /* including the NUL */

/* What is wrong with a pattern; NULL: nothing. */
const char *glob_fault(const char *pattern);

/*
 * Whether it matches the relative path, or a directory on the way to it.  A
 * slash at the end of the path asks whether it matches all below.  In time that
 * is linear in each of the two; both are bytes of any kind.
 */
bool glob_match(const char *pattern, const char *path);

#endif
