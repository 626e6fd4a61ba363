/*
 * base64.h: RFC 4648, the alphabet with + and /, padded.
 */
#ifndef SANDLEASE_COMMON_BASE64_H
#define SANDLEASE_COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

void base64_encode(struct buf *to, const void *data, size_t len);

/*
 * Appends the bytes.  False, with nothing appended, when the text is not base64
 * from beginning to end.  The last character before the padding has two or four
 * bits too many, which may have any value.
 */
bool base64_decode(struct buf *to, const char *s, size_t len);

/* The same, but these bits must be 0: only one text stands for given bytes. */
bool base64_decode_strict(struct buf *to, const char *s, size_t len);

#endif
