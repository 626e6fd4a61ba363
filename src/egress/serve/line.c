/* line.c: whether a client's first line is one of HTTP, as the line arrives. */
#include <ctype.h>
#include <string.h>

#include "egress/serve/serve.h"

/* No server is known that takes a longer line. */
enum { LINE_BYTES_MAX = 2 * 1024 * 1024 };

/* Some servers take more for a blank than a space. */
static bool
is_blank(int ch)
{
	return isspace(ch) || (ch >= 0x1c && ch <= 0x1f) || ch == 0x85 ||
	    ch == 0xa0;
}

/* How many bytes of `word` the last ones of a text are, `ch` included. */
static size_t
match(const char *word, size_t matched, int ch)
{
	/* no part of these words is their beginning, but for one byte */
	if (ch != word[matched])
		matched = 0;
	return ch == word[matched] ? matched + 1 : matched;
}

/* Goes on with the word, the blanks after it, the target and the rest. */
static bool
read_byte(struct line *l, int ch)
{
	bool blank = is_blank(ch);

	switch (l->part) {
	case LINE_BEFORE:
		if (blank)
			return true;
		l->part = LINE_WORD;
		l->is_method = true;
		/* fall through */
	case LINE_WORD:
		if (blank)
			l->part = LINE_GAP;
		else if (!isupper(ch) && ch != '-' && ch != '_')
			l->is_method = false;
		return blank || isgraph(ch);
	case LINE_GAP:
		if (blank)
			return true;
		l->part = LINE_TARGET;
		l->is_path = ch == '/' || ch == '*';
		break;
	case LINE_TARGET:
		if (blank)
			l->part = LINE_AFTER;
		break;
	case LINE_AFTER:
		if (!blank)
			l->part = LINE_REST;
		break;
	case LINE_REST:
		break;
	}
	l->scheme = match("://", l->scheme, ch);
	l->is_path = l->is_path || (l->part == LINE_TARGET && l->scheme == 3);
	l->scheme %= 3;
	return true;
}

/*
 * A server may take more for HTTP than the standard allows: methods that nobody
 * knows, empty lines before them, other blanks than a space.  So each line with
 * a version of HTTP in it counts; and one with a method, a target and no
 * version, to which servers answer, too.
 */
enum line_kind
line_read(struct line *l, const char *data, size_t len)
{
	static const char WORD[] = "http/";

	for (size_t i = 0; i < len; i++) {
		int ch = (unsigned char)data[i];

		if (ch == '\n' && l->part != LINE_BEFORE)
			return l->is_method && l->is_path &&
				l->part != LINE_REST
			    ? LINE_HTTP
			    : LINE_OTHER;
		if (!read_byte(l, ch))
			return LINE_OTHER;
		l->matched = match(WORD, l->matched, tolower(ch));
		if (WORD[l->matched] == '\0')
			return LINE_HTTP;
	}
	l->bytes += len;
	return l->bytes < LINE_BYTES_MAX ? LINE_MORE : LINE_OTHER;
}
