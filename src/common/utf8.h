/*
 * utf8.h: checks UTF-8, and writes any bytes as valid JSON strings.
 *
 * The output of a command and the name of a file may hold any bytes, but what
 * we answer, store and log must be UTF-8.
 */
#ifndef SANDLEASE_COMMON_UTF8_H
#define SANDLEASE_COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

/*
 * Bytes of the longest sequence.  It is also a safe `len` for utf8_sequence()
 * in a NUL-terminated string: reading stops at the NUL.
 */
enum { UTF8_LEN_MAX = 4 };

/*
 * The length (1..4) of the valid sequence at s, 0 when there is none, -1 when
 * the sequence is longer than `len`.
 */
int utf8_sequence(const char *s, size_t len);

bool utf8_valid(const char *s, size_t len);

/* How many bytes there are before a sequence that is cut off at the end. */
size_t utf8_whole(const char *s, size_t len);

/* The first bytes of a character whose other bytes have not arrived yet. */
struct utf8_tail {
	char bytes[UTF8_LEN_MAX];
	size_t len;
};

/*
 * Appends the bytes of *t and of s to `to`.  If they end within a character,
 * its first bytes are kept in *t instead.
 */
void utf8_join(struct utf8_tail *t, const char *s, size_t len, struct buf *to);

/*
 * Appends the bytes as the inside of a JSON string, without the quotes.  Each
 * byte that is not part of a valid sequence becomes U+FFFD.
 */
void utf8_json(struct buf *to, const char *s, size_t len);

/*
 * The same in ASCII, for clients that decode each piece of a stream by itself:
 * they would lose a character that is cut in two.
 */
void utf8_json_ascii(struct buf *to, const char *s, size_t len);

#endif
