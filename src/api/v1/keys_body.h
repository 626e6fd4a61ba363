/*
 * keys_body.h: correlation keys as they come from outside.
 */
#ifndef SANDLEASE_API_V1_KEYS_BODY_H
#define SANDLEASE_API_V1_KEYS_BODY_H

#include "common/json.h"

enum {
	KEYS_GIVEN_MAX = 16, /* with a create */
	KEYS_SESSION_MAX =
	    64,           /* of one session, as keys_attach() in SQL says */
	KEY_LEN_MAX = 255 /* bytes */
};

/* Whether it can be a key: printable UTF-8, 1 to 255 bytes. */
bool key_is_good(const char *s);

/*
 * Every element must be a good key; NULL is no list and good.  The same one
 * twice means it once.
 */
int keys_check(const json_t *keys, const char *field, struct err *e) MUST_CHECK;

#endif
