/*
 * nearest.h: which of some words somebody may have meant.
 */
#ifndef SANDLEASE_COMMON_NEAREST_H
#define SANDLEASE_COMMON_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_WORD_MAX = 32 };

/*
 * How many letters must be inserted, removed, replaced or swapped with their
 * neighbour to make `a` of `b`; of words longer than NEAREST_WORD_MAX only the
 * beginning counts.
 */
size_t nearest_distance(const char *a, const char *b);

/* True when `b` may be what was meant by `a`: one slip in three letters. */
bool nearest_is_close(const char *a, const char *b);

#endif
