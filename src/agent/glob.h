/*
 * glob.h: patterns of paths.
 *
 * `*` and `?` stand for any characters, and for any one, of a name; the name
 * `**` for any number of names.  Nothing else is special.  Pure.
 */
#ifndef SANDLEASE_AGENT_GLOB_H
#define SANDLEASE_AGENT_GLOB_H

#include <stdbool.h>

/* Whether it is the pattern of this path, from the first byte to the last. */
bool glob_match(const char *pattern, const char *path);

#endif
