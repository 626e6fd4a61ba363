/* base64.c: encodes and decodes base64 (RFC 4648). */
#include "common/base64.h"

#include <stdint.h>

static const char ALPHABET[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void
base64_encode(struct buf *to, const void *data, size_t len)
{
	const unsigned char *s = data;
	char *start = buf_room(to, (len + 2) / 3 * 4), *out = start;

	for (; len >= 3; s += 3, len -= 3) {
		*out++ = ALPHABET[s[0] >> 2];
		*out++ = ALPHABET[(s[0] & 3) << 4 | s[1] >> 4];
		*out++ = ALPHABET[(s[1] & 15) << 2 | s[2] >> 6];
		*out++ = ALPHABET[s[2] & 63];
	}
	if (len > 0) {
		unsigned next = len > 1 ? s[1] : 0;

		*out++ = ALPHABET[s[0] >> 2];
		*out++ = ALPHABET[(s[0] & 3U) << 4 | next >> 4];
		*out++ = len > 1 ? ALPHABET[(next & 15) << 2] : '=';
		*out++ = '=';
	}
	*out = '\0';
	to->len += (size_t)(out - start);
}

/* The value of a character plus 1; 0: the character is not in the alphabet. */
/* clang-format off */
static const unsigned char VALUES[256] = {
	['A'] =  1, ['B'] =  2, ['C'] =  3, ['D'] =  4, ['E'] =  5, ['F'] =  6, ['G'] =  7, ['H'] =  8,
	['I'] =  9, ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
	['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
	['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
	['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
	['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
	['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
	['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['/'] = 64,
};
/* clang-format on */

/*
 * Reads `count` characters of a group of four; missing ones count as zero.
 * False: a character is not in the alphabet.
 */
static bool
read_group(const unsigned char *s, size_t count, uint32_t *out)
{
	uint32_t v = 0;

	for (size_t k = 0; k < 4; k++) {
		unsigned value = k < count ? VALUES[s[k]] : 1;

		if (value == 0)
			return false;
		v = v << 6 | (value - 1);
	}
	*out = v;
	return true;
}

/* Returns where the decoded bytes end; NULL: the text is not base64. */
static unsigned char *
decode_to(unsigned char *out, const unsigned char *s, size_t len, bool strict)
{
	size_t pad = 0;
	uint32_t v;

	if (len % 4 != 0)
		return NULL;
	while (pad < 2 && len > 0 && s[len - 1 - pad] == '=')
		pad++;
	for (; len > 4 || (len > 0 && pad == 0); s += 4, len -= 4) {
		if (!read_group(s, 4, &v))
			return NULL;
		*out++ = (unsigned char)(v >> 16);
		*out++ = (unsigned char)(v >> 8);
		*out++ = (unsigned char)v;
	}
	if (len > 0) { /* the last group, which is padded */
		if (!read_group(s, 4 - pad, &v) ||
		    (strict && (v & ((1U << 8 * pad) - 1)) != 0))
			return NULL;
		*out++ = (unsigned char)(v >> 16);
		if (pad == 1)
			*out++ = (unsigned char)(v >> 8);
	}
	return out;
}

static bool
decode(struct buf *to, const char *s, size_t len, bool strict)
{
	unsigned char *start = (unsigned char *)buf_room(to, len / 4 * 3);
	unsigned char *end =
	    decode_to(start, (const unsigned char *)s, len, strict);

	if (end != NULL)
		to->len += (size_t)(end - start);
	to->data[to->len] = '\0';
	return end != NULL;
}

bool
base64_decode(struct buf *to, const char *s, size_t len)
{
	return decode(to, s, len, false);
}

bool
base64_decode_strict(struct buf *to, const char *s, size_t len)
{
	return decode(to, s, len, true);
}
