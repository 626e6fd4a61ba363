/*
 * id.h: makes random ids.
 *
 * Ids are not secrets, but long enough that two are never equal.  Tokens, which
 * are secrets, are in token.h.
 */
#ifndef SANDLEASE_COMMON_ID_H
#define SANDLEASE_COMMON_ID_H

#include <stdbool.h>
#include <stddef.h>

/* The characters of an id. */
#define ID_ALPHABET "abcdefghijklmnopqrstuvwxyz234567"

enum {
	ID_SESSION_LEN = 20, /* base32, 100 bits: safe in a DNS label */
	ID_REQUEST_LEN = 16,
	ID_INSTANCE_LEN = 16,
	ID_INCARNATION_LEN = 16,
	ID_MAX = 33 /* with the NUL; nginx's request ids have 32 */
};

/* Fills `out` with `len` random characters of ID_ALPHABET and a NUL. */
void id_random(char *out, size_t len);

/* True for 20 characters of [a-z0-9]. */
bool id_is_session(const char *s);

#endif
