/* bigjson.c: finds and decodes a member of JSON text without a parser. */
#include "agent/base/bigjson.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"

/* ---- finding a member */

struct scan {
	const char *text;
	size_t len, at;
};

static char
next_char(struct scan *s)
{
	while (s->at < s->len && strchr(" \t\r\n", s->text[s->at]) != NULL &&
	    s->text[s->at] != '\0')
		s->at++;
	return s->at < s->len ? s->text[s->at] : '\0';
}

static bool
skip_char(struct scan *s, char wanted)
{
	if (next_char(s) != wanted)
		return false;
	s->at++;
	return true;
}

/* Moves past the string's last quote. */
static bool
skip_string(struct scan *s)
{
	if (!skip_char(s, '"'))
		return false;
	while (s->at < s->len && s->text[s->at] != '"')
		s->at += s->text[s->at] == '\\' ? 2 : 1;
	s->at++;
	return s->at <= s->len;
}

/* Skips a number or true, false, null: to a byte that may follow a value. */
static bool
skip_word(struct scan *s)
{
	size_t from = s->at;

	while (s->at < s->len && strchr(",]} \t\r\n", s->text[s->at]) == NULL)
		s->at++;
	return s->at > from;
}

static bool
skip_value(struct scan *s)
{
	size_t depth = 0;

	do {
		char ch = next_char(s);

		if (ch == '\0')
			return false;
		if (ch == '{' || ch == '[') {
			depth++;
			s->at++;
		} else if (ch == '}' || ch == ']') {
			if (depth == 0)
				return false;
			depth--;
			s->at++;
		} else if (ch == '"') {
			if (!skip_string(s))
				return false;
		} else if (depth > 0 && (ch == ',' || ch == ':')) {
			s->at++;
		} else if (!skip_word(s)) {
			return false;
		}
	} while (depth > 0);
	return true;
}

bool
bigjson_find(const char *text, size_t len, const char *name,
    struct bigjson_value *out)
{
	struct scan s = { text, len, 0 };
	size_t wanted = strlen(name);

	if (!skip_char(&s, '{'))
		return false;
	do {
		size_t key, value;
		bool found;

		next_char(&s);
		key = s.at + 1;
		if (!skip_string(&s))
			return false;
		found = s.at - 1 - key == wanted &&
		    memcmp(text + key, name, wanted) == 0;
		if (!skip_char(&s, ':'))
			return false;
		next_char(&s);
		value = s.at;
		if (!skip_value(&s))
			return false;
		if (found) {
			*out = (struct bigjson_value){ value, s.at - value };
			return true;
		}
	} while (skip_char(&s, ','));
	return false;
}

int
bigjson_parse_rest(const char *text, size_t len,
    const struct bigjson_value *without, json_t **out, struct err *e)
{
	auto_buf struct buf rest = { 0 };
	size_t behind = without->at + without->len;

	buf_add(&rest, text, without->at);
	buf_str(&rest, "null");
	buf_add(&rest, text + behind, len - behind);
	return json_parse(rest.data, rest.len, out, e);
}

/* ---- decoding a string */

/* The value of the four hex digits at s; -1 if there are not four. */
static int32_t
read_unit(const char *s, const char *end)
{
	static const char DIGITS[] = "0123456789abcdef0123456789ABCDEF";
	int32_t unit = 0;

	if (end - s < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *at = s[i] != '\0' ? strchr(DIGITS, s[i]) : NULL;

		if (at == NULL)
			return -1;
		unit = unit * 16 + (int32_t)(at - DIGITS) % 16;
	}
	return unit;
}

static size_t
put_character(char *to, uint32_t ch)
{
	static const struct {
		uint32_t below;
		unsigned char first;
	} FORMS[] = { { 0x80, 0 }, { 0x800, 0xc0 }, { 0x10000, 0xe0 },
		{ 0x110000, 0xf0 } };
	size_t more = 0;

	while (ch >= FORMS[more].below)
		more++;
	to[0] = (char)(FORMS[more].first | ch >> (6 * more));
	for (size_t i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (ch >> (6 * (more - i)) & 0x3f));
	return 1 + more;
}

/*
 * Decodes \uXXXX, or a surrogate pair of two; *from is after the u.  Returns 0
 * if it is no character.
 */
static size_t
decode_unit(char *to, const char **from, const char *end)
{
	int32_t high = read_unit(*from, end), low;

	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return 0;
	*from += 4;
	if (high < 0xd800 || high > 0xdfff)
		return put_character(to, (uint32_t)high);
	if (end - *from < 2 || (*from)[0] != '\\' || (*from)[1] != 'u')
		return 0;
	low = read_unit(*from + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return 0;
	*from += 6;
	return put_character(to,
	    0x10000u + ((uint32_t)(high - 0xd800) << 10) +
		(uint32_t)(low - 0xdc00));
}

/* Decodes an escape; *from is after its backslash.  Returns 0 if it is none. */
static size_t
decode_escape(char *to, const char **from, const char *end)
{
	static const char NAMES[] = "\"\\/bfnrt", MEANS[] = "\"\\/\b\f\n\r\t";
	char ch = *from < end ? *(*from)++ : '\0';
	const char *at = ch != '\0' ? strchr(NAMES, ch) : NULL;

	if (ch == 'u')
		return decode_unit(to, from, end);
	if (at == NULL)
		return 0;
	*to = MEANS[at - NAMES];
	return 1;
}

ssize_t
bigjson_unescape(char *s, size_t len)
{
	const char *from = s + 1, *end = s + len - 1;
	char *to = s;

	if (len < 2 || s[0] != '"' || s[len - 1] != '"')
		return -1;
	/* an escape is longer than its character: `to` stays behind `from` */
	while (from < end) {
		size_t n = 1;

		if ((unsigned char)*from < ' ' || *from == '"')
			return -1;
		if (*from == '\\') {
			from++;
			n = decode_escape(to, &from, end);
		} else {
			*to = *from++;
		}
		if (n == 0)
			return -1;
		to += n;
	}
	return utf8_valid(s, (size_t)(to - s)) ? to - s : -1;
}

/* ---- depth */

bool
bigjson_depth_ok(const char *text, size_t len, int max)
{
	bool quoted = false;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char ch = text[i];

		if (quoted) {
			if (ch == '\\')
				i++;
			else if (ch == '"')
				quoted = false;
		} else if (ch == '"') {
			quoted = true;
		} else if (ch == '[' || ch == '{') {
			if (++depth > max)
				return false;
		} else if (ch == ']' || ch == '}') {
			depth--;
		}
	}
	return true;
}
