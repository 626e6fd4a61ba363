/*
 * base64.h: RFC 4648, the alphabet with + and /, padded.
 */
#ifndef SANDLEASE_AGENT_BASE_BASE64_H
#define SANDLEASE_AGENT_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

void base64_encode(struct buf *to, const void *data, size_t len);

/* False when it is not base64 from beginning to end. */
bool base64_decode(struct buf *to, const char *s, size_t len);

#endif
