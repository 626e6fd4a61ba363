/*
 * glob.h: matches paths with patterns that have `*`, `**` and `?` only.
 *
 * A pattern without a slash matches a name at any depth.  A pattern with a
 * slash begins at the top: the directory that is watched or backed up.  A
 * pattern that matches a directory matches all entries below it.
 */
#ifndef SANDLEASE_COMMON_GLOB_H
#define SANDLEASE_COMMON_GLOB_H

#include <stdbool.h>

enum { GLOB_MAX = 256 }; /* including the NUL */

/* The error in the pattern, as text for the client; NULL: it is valid. */
const char *glob_fault(const char *pattern);

/*
 * Whether the pattern matches the relative path, or a directory on the way to
 * it.  A slash at the end of the path asks whether the pattern matches all
 * paths below.  Takes time linear in each of the two lengths.  Both may have
 * any bytes.
 */
bool glob_match(const char *pattern, const char *path);

#endif
