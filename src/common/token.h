/*
 * token.h: makes secrets, hashes them, and encrypts values ("sealing").
 *
 * Keys and preview tokens are random.  The database keeps a BLAKE2b hash and,
 * if the owner must see the secret again, a sealed copy: XChaCha20-Poly1305
 * with the owner's name as associated data, and the sealing key's id in front.
 */
#ifndef SANDLEASE_COMMON_TOKEN_H
#define SANDLEASE_COMMON_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

enum {
	TOKEN_HASH_LEN = 32,
	TOKEN_HASH_HEX_MAX = 2 * TOKEN_HASH_LEN + 1,
	TOKEN_PREVIEW_LEN = 26,     /* base32, 130 bits */
	TOKEN_KEY_LEN = 3 + 52,     /* "sl_" and base32 of 260 bits */
	TOKEN_KEY_MAX = 128,        /* a longer key is refused unread */
	TOKEN_WEBHOOK_LEN = 6 + 52, /* "whsec_" and base32 of 260 bits */
	SEAL_KEYS_MAX = 8
};

/* Must be called once, before every other function of this file. */
int token_init(struct err *e) MUST_CHECK;

/* Makes an API key; secret scanners recognise it by the "sl_" in front. */
void token_make_key(char out[TOKEN_KEY_LEN + 1]);

/* Makes a preview token or login token. */
void token_make(char out[TOKEN_PREVIEW_LEN + 1]);

/* Makes the secret by which a webhook's requests are signed. */
void token_make_webhook(char out[TOKEN_WEBHOOK_LEN + 1]);

/* BLAKE2b-256 of a secret as lower-case hex. */
void token_hash(const char *secret, char out[TOKEN_HASH_HEX_MAX]);

/* Compares two secrets, or hashes of secrets, in constant time. */
bool token_equal(const char *a, const char *b);

/* Overwrites a secret in memory; the compiler cannot optimise it away. */
void token_wipe(void *secret, size_t len);

/* base64_decode_strict() for a NUL-terminated string. */
bool token_base64(const char *text, struct buf *out);

/* SHA-256 as lower-case hex: for ids, which other programs compute, too. */
void token_sha256(const char *text, char out[TOKEN_HASH_HEX_MAX]);

/* HMAC-SHA-256 of a text as lower-case hex. */
void token_hmac(const char *secret, const char *text,
    char out[TOKEN_HASH_HEX_MAX]);

/*
 * The keys for sealing, newest first: lines "id:64 hex digits" of a file with
 * mode 0600.
 */
struct seal_keys {
	struct {
		char id[9];
		unsigned char key[32];
	} key[SEAL_KEYS_MAX];
	size_t count;
};

int seal_keys_load(const char *path, struct seal_keys *k, struct err *e)
    MUST_CHECK;
/* Creates a file with one new key, mode 0600; fails if the file exists. */
int seal_keys_create(const char *path, struct err *e) MUST_CHECK;

/*
 * seal() appends key id, ':' and base64 to `out`.  seal_open() needs the same
 * `owner`.
 */
void seal(const struct seal_keys *k, const char *owner, const char *plain,
    size_t len, struct buf *out);
int seal_open(const struct seal_keys *k, const char *owner, const char *sealed,
    struct buf *plain, struct err *e) MUST_CHECK;

#endif
