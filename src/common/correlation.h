/*
 * correlation.h: says which texts can be correlation keys, in requests and
 * inside of sessions.
 */
#ifndef SANDLEASE_COMMON_CORRELATION_H
#define SANDLEASE_COMMON_CORRELATION_H

#include <stdbool.h>

#include "common/json.h"

enum {
	CORRELATION_GIVEN_MAX = 16, /* in one create, or from inside */
	CORRELATION_KEY_MAX = 255   /* bytes */
};

/* Whether `s` can be a key: printable UTF-8, 1 to 255 bytes. */
bool correlation_is_key(const char *s);

/* The same for an element of a list. */
bool correlation_is_key_json(const json_t *v);

bool correlation_list_has(const json_t *list, const char *key);

/*
 * The keys in a list that another program has sent: at most 16, each once, and
 * none that cannot be one.  The caller owns the new list; NULL: there are none.
 */
json_t *correlation_list(const json_t *list);

#endif
