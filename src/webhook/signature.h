/*
 * signature.h: signs the requests of webhooks, so that their servers can tell
 * them from others'.
 */
#ifndef SANDLEASE_WEBHOOK_SIGNATURE_H
#define SANDLEASE_WEBHOOK_SIGNATURE_H

#include <stdint.h>

#include "common/token.h"

/* "t=", a number, ",v1=" and the hash. */
enum { SIGNATURE_MAX = 2 + 20 + 4 + TOKEN_HASH_HEX_MAX };

/*
 * "t=UNIX,v1=HEX": HMAC-SHA-256, by the webhook's secret, of the time, a dot
 * and the body.  The time is a part of it, so that a server can refuse a
 * request that was recorded and is sent again.
 */
void signature_make(const char *secret, int64_t unix_seconds, const char *body,
    char out[SIGNATURE_MAX]);

#endif
