/* digest.h: the SHA-256 of bytes that come in pieces. */
#ifndef SANDLEASE_COMMON_DIGEST_H
#define SANDLEASE_COMMON_DIGEST_H

#include <sodium.h>
#include <stddef.h>

enum { DIGEST_HEX_MAX = 65 };

struct digest {
	crypto_hash_sha256_state state;
};

void digest_begin(struct digest *d);
void digest_add(struct digest *d, const void *data, size_t len);
void digest_end(struct digest *d, char out[DIGEST_HEX_MAX]);

#endif
