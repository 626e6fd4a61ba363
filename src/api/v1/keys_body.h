/*
 * keys_body.h: checks correlation keys of requests.
 */
#ifndef SANDLEASE_API_V1_KEYS_BODY_H
#define SANDLEASE_API_V1_KEYS_BODY_H

#include "common/json.h"

enum {
	KEYS_GIVEN_MAX = 16,   /* in one create */
	KEYS_SESSION_MAX = 64, /* of a session; keys_attach() in SQL, too */
	KEY_LEN_MAX = 255      /* bytes */
};

/* Whether `s` can be a key: printable UTF-8, 1 to 255 bytes. */
bool key_is_good(const char *s);

/*
 * Checks that every element can be a key; `keys` may be NULL.  A key may be in
 * the list twice.  The error names `field`.
 */
int keys_check(const json_t *keys, const char *field, struct err *e) MUST_CHECK;

#endif
