/*
 * nearest.h: compares a mistyped word with known words, for "did you mean".
 */
#ifndef SANDLEASE_COMMON_NEAREST_H
#define SANDLEASE_COMMON_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

enum { NEAREST_WORD_MAX = 32 };

/*
 * The edit distance: how many letters must be inserted, removed, replaced or
 * swapped with their neighbour to turn `b` into `a`.  Only the first
 * NEAREST_WORD_MAX letters count.
 */
size_t nearest_distance(const char *a, const char *b);

/* True when `a` may be a mistyped `b`: at most one mistake in three letters. */
bool nearest_is_close(const char *a, const char *b);

#endif
