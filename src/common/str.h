/*
 * str.h: helpers for bounded strings, and a growing buffer.
 */
#ifndef SANDLEASE_COMMON_STR_H
#define SANDLEASE_COMMON_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* Copies src into dst.  False, with dst "", when it does not fit. */
bool str_copy(char *dst, size_t size, const char *src);

/* True when s is "" or NULL. */
bool str_empty(const char *s);

bool str_equal(const char *a, const char *b);
bool str_starts(const char *s, const char *prefix);

/* True when s has min..max characters, all of them in `set`. */
bool str_made_of(const char *s, const char *set, size_t min, size_t max);

/*
 * Replaces control characters, which a terminal would obey, by '?': those of
 * ASCII, and the C1 set, whose first byte is 0xc2 in UTF-8.
 */
void str_mask_controls(char *s);

/* Parses decimal digits within min..max.  False: *out is unchanged. */
bool str_to_int(const char *s, int64_t min, int64_t max, int64_t *out);

/*
 * True when `item` is an element of a comma separated list.  Space around
 * elements is ignored, and so are empty elements.
 */
bool str_list_has(const char *list, const char *item);

/* The path of a file in the same directory as `path`; the caller frees it. */
char *str_beside(const char *path, const char *name);

/* A buffer that grows.  Start with { 0 }; data is NUL terminated once used. */
struct buf {
	char *data;
	size_t len;
	size_t cap;
};

#define auto_buf __attribute__((cleanup(buf_free)))

void buf_add(struct buf *b, const void *data, size_t len);
/* The same, but only the last `max` bytes of all are kept. */
void buf_add_tail(struct buf *b, const void *data, size_t len, size_t max);
void buf_str(struct buf *b, const char *s);
void buf_fmt(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Makes room for `len` more bytes and returns where they go. */
char *buf_room(struct buf *b, size_t len);
void buf_free(struct buf *b);

#endif
