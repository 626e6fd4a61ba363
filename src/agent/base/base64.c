/* base64.c: RFC 4648. */
#include "agent/base/base64.h"

#include <stdint.h>
#include <string.h>

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_encode(struct buf *to, const void *data, size_t len)
{
	const unsigned char *s = data;

	buf_room(to, (len + 2) / 3 * 4);
	for (; len > 0; s += 3) {
		size_t n = len < 3 ? len : 3;
		uint32_t v = (uint32_t)s[0] << 16 |
		    (n > 1 ? (uint32_t)s[1] << 8 : 0) | (n > 2 ? s[2] : 0);
		char out[4] = { ALPHABET[v >> 18], ALPHABET[v >> 12 & 63],
			n > 1 ? ALPHABET[v >> 6 & 63] : '=',
			n > 2 ? ALPHABET[v & 63] : '=' };

		buf_add(to, out, sizeof(out));
		len -= n;
	}
}

static int
value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

bool
base64_decode(struct buf *to, const char *s, size_t len)
{
	size_t pad = 0;

	buf_room(to, len / 4 * 3);
	if (len % 4 != 0)
		return false;
	while (pad < 2 && len > 0 && s[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len; i += 4) {
		size_t missing = i + 4 == len ? pad : 0;
		uint32_t v = 0;

		for (size_t k = 0; k < 4; k++) {
			int d = k < 4 - missing ? value_of(s[i + k]) : 0;

			if (d < 0)
				return false;
			v = v << 6 | (uint32_t)d;
		}
		buf_add(to,
		    (char[]){ (char)(v >> 16), (char)(v >> 8), (char)v },
		    3 - missing);
	}
	return true;
}
