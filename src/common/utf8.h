/*
 * utf8.h: bytes of any origin as text.
 *
 * What a command prints or a file is called may be anything; what we answer,
 * store and log must be UTF-8.
 */
#ifndef SANDLEASE_COMMON_UTF8_H
#define SANDLEASE_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { UTF8_LEN_MAX = 4 }; /* bytes; enough of a string that ends with NUL */

/*
 * Length of the valid sequence at s (1..4), 0 when the byte there begins
 * none, -1 when `len` ends before the sequence does.
 */
int utf8_sequence(const char *s, size_t len);

bool utf8_valid(const char *s, size_t len);

/* How many of the bytes do not belong to a sequence cut off at the end. */
size_t utf8_whole(const char *s, size_t len);

/* The beginning of a character whose rest has not come yet. */
struct utf8_tail {
	char bytes[UTF8_LEN_MAX];
	size_t len;
};

/*
 * Appends what was kept and the bytes to `to`, and keeps the beginning of a
 * character that they end with.
 */
void utf8_join(struct utf8_tail *t, const char *s, size_t len, struct buf *to);

/*
 * Appends the bytes as the inside of a JSON string, without the quotes; each
 * that is no part of a valid sequence as U+FFFD.
 */
void utf8_json(struct buf *to, const char *s, size_t len);

/*
 * The same in ASCII: for clients that decode what they get piece by piece, and
 * so lose a character that is cut in two.
 */
void utf8_json_ascii(struct buf *to, const char *s, size_t len);

#endif
