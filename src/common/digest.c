/* digest.c: the SHA-256 of bytes that come in pieces. */
#include "common/digest.h"

_Static_assert(2 * crypto_hash_sha256_BYTES + 1 == DIGEST_HEX_MAX,
    "two digits for each byte");

void
digest_begin(struct digest *d)
{
	crypto_hash_sha256_init(&d->state);
}

void
digest_add(struct digest *d, const void *data, size_t len)
{
	crypto_hash_sha256_update(&d->state, data, len);
}

void
digest_end(struct digest *d, char out[DIGEST_HEX_MAX])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(&d->state, hash);
	sodium_bin2hex(out, DIGEST_HEX_MAX, hash, sizeof(hash));
}
