/* utf8.c: checks UTF-8, and writes any bytes as valid JSON strings. */
#include "common/utf8.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

struct form {
	unsigned char mask, lead;
	int len;
	uint32_t min; /* below it the sequence is overlong */
};

static const struct form FORMS[] = {
	{ 0x80, 0x00, 1, 0 },
	{ 0xe0, 0xc0, 2, 0x80 },
	{ 0xf0, 0xe0, 3, 0x800 },
	{ 0xf8, 0xf0, 4, 0x10000 },
};

int
utf8_sequence(const char *s, size_t len)
{
	unsigned char first = (unsigned char)s[0];
	const struct form *f = NULL;
	uint32_t point;

	for (size_t i = 0; i < ARRAY_LEN(FORMS) && f == NULL; i++)
		if ((first & FORMS[i].mask) == FORMS[i].lead)
			f = &FORMS[i];
	if (f == NULL)
		return 0;
	point = first & (unsigned char)~f->mask;
	for (int i = 1; i < f->len; i++) {
		if ((size_t)i >= len)
			return -1;
		if (((unsigned char)s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | ((unsigned char)s[i] & 0x3f);
	}
	if (point < f->min || point > 0x10ffff ||
	    (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return f->len;
}

bool
utf8_valid(const char *s, size_t len)
{
	while (len > 0) {
		int n = utf8_sequence(s, len);

		if (n <= 0)
			return false;
		s += n;
		len -= (size_t)n;
	}
	return true;
}

size_t
utf8_whole(const char *s, size_t len)
{
	/* a cut sequence has at most three bytes */
	for (size_t back = 1; back <= 3 && back <= len; back++)
		if (utf8_sequence(s + len - back, back) < 0)
			return len - back;
	return len;
}

void
utf8_join(struct utf8_tail *t, const char *s, size_t len, struct buf *to)
{
	size_t whole;

	buf_add(to, t->bytes, t->len);
	buf_add(to, s, len);
	whole = utf8_whole(to->data, to->len);
	t->len = to->len - whole;
	memcpy(t->bytes, to->data + whole, t->len);
	to->len = whole;
}

static void
put_escaped(struct buf *to, char ch)
{
	static const char NAMED[] = "\"\\\n\r\t\b\f";
	static const char LETTER[] = "\"\\nrtbf";

	for (size_t i = 0; NAMED[i] != '\0'; i++) {
		if (NAMED[i] == ch) {
			char pair[2] = { '\\', LETTER[i] };

			buf_add(to, pair, sizeof(pair));
			return;
		}
	}
	buf_fmt(to, "\\u%04x", (unsigned)(unsigned char)ch);
}

/* Writes a sequence of n bytes as \uXXXX, above 16 bits as a surrogate pair. */
static void
put_code(struct buf *to, const char *s, int n)
{
	unsigned code = (unsigned char)*s & (0x7fU >> n);

	for (int i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3fU);
	if (code < 0x10000) {
		buf_fmt(to, "\\u%04x", code);
		return;
	}
	code -= 0x10000;
	buf_fmt(to, "\\u%04x\\u%04x", 0xd800 + (code >> 10),
	    0xdc00 + (code & 0x3ff));
}

static void
put_json(struct buf *to, const char *s, size_t len, bool ascii)
{
	size_t plain = 0; /* bytes before s that are copied unchanged */

	while (len > 0) {
		int n = utf8_sequence(s, len);
		size_t step = n > 0 ? (size_t)n : 1;
		bool as_is = (n > 1 && !ascii) ||
		    (n == 1 && (unsigned char)*s >= 0x20 && *s != '"' &&
			*s != '\\' && *s != 0x7f);

		if (as_is) {
			plain += step;
		} else {
			buf_add(to, s - plain, plain);
			plain = 0;
			if (n == 1)
				put_escaped(to, *s);
			else if (n > 1)
				put_code(to, s, n);
			else
				buf_str(to, ascii ? "\\ufffd" : "\xef\xbf\xbd");
		}
		s += step;
		len -= step;
	}
	buf_add(to, s - plain, plain);
}

void
utf8_json(struct buf *to, const char *s, size_t len)
{
	put_json(to, s, len, false);
}

void
utf8_json_ascii(struct buf *to, const char *s, size_t len)
{
	put_json(to, s, len, true);
}
