/* id.c: makes random ids. */
#include "common/id.h"

#include <stdlib.h>
#include <sys/random.h>

#include "common/str.h"

void
id_random(char *out, size_t len)
{
	unsigned char bytes[64];

	if (len > sizeof(bytes) || getrandom(bytes, len, 0) != (ssize_t)len)
		abort();
	for (size_t i = 0; i < len; i++)
		out[i] = ID_ALPHABET[bytes[i] & 31];
	out[len] = '\0';
}

bool
id_is_session(const char *s)
{
	return str_made_of(s, "abcdefghijklmnopqrstuvwxyz0123456789",
	    ID_SESSION_LEN, ID_SESSION_LEN);
}
