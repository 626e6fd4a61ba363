/* signature.c: signs the requests of webhooks. */
#include "webhook/signature.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/mem.h"

void
signature_make(const char *secret, int64_t unix_seconds, const char *body,
    char out[SIGNATURE_MAX])
{
	auto_free char *text = xasprintf("%" PRId64 ".%s", unix_seconds, body);
	char hash[TOKEN_HASH_HEX_MAX];

	token_hmac(secret, text, hash);
	snprintf(out, SIGNATURE_MAX, "t=%" PRId64 ",v1=%s", unix_seconds, hash);
}
