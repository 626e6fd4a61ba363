/*
 * keys_body.h: checks correlation keys of requests.
 */
#ifndef SANDLEASE_API_V1_KEYS_BODY_H
#define SANDLEASE_API_V1_KEYS_BODY_H

#include "common/correlation.h"
#include "common/json.h"

enum { KEYS_SESSION_MAX = 64 }; /* of a session; keys_attach() in SQL, too */

/*
 * Checks that every element can be a key; `keys` may be NULL.  A key may be in
 * the list twice.  The error names `field`.
 */
int keys_check(const json_t *keys, const char *field, struct err *e) MUST_CHECK;

#endif
