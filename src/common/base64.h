/*
 * base64.h: encodes and decodes base64 (RFC 4648, alphabet with + and /,
 * padded).
 */
#ifndef SANDLEASE_COMMON_BASE64_H
#define SANDLEASE_COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

void base64_encode(struct buf *to, const void *data, size_t len);

/*
 * Appends the decoded bytes to `to`.  False, with nothing appended, when the
 * text is not base64 from beginning to end.  The last character before the
 * padding has two or four unused bits; they may have any value.
 */
bool base64_decode(struct buf *to, const char *s, size_t len);

/* The same, but the unused bits must be 0: given bytes have only one text. */
bool base64_decode_strict(struct buf *to, const char *s, size_t len);

#endif
