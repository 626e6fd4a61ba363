/* line.c: whether a client's first line is one of HTTP, as the line arrives. */
#include <ctype.h>
#include <string.h>

#include "egress/serve/serve.h"

enum {
	WORD_LINE_MAX = 2 * 1024 * 1024, /* no server takes a longer line */
	ODD_LINE_MAX = 64 * 1024,        /* the same, if its word is no token */
	BLANKS_MAX = 64 * 1024 /* before it; some servers skip any number */
};

enum version { VERSION_NONE, VERSION_HTTP, VERSION_OTHER };

/* Some servers take more for a blank than a space. */
static bool
is_blank(int ch)
{
	return isspace(ch) || (ch >= 0x1c && ch <= 0x1f) || ch == 0x85 ||
	    ch == 0xa0;
}

/* The characters of a token (RFC 9110, 5.6.2). */
static bool
is_of_token(int ch)
{
	return isalnum(ch) ||
	    (ch != '\0' && strchr("!#$%&'*+-.^_`|~", ch) != NULL);
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

static void
keep_last(struct line *l, int ch)
{
	int kept = is_blank(ch) ? ' ' : tolower(ch);

	if (kept != ' ' || l->last[(l->kept - 1) % LINE_LAST] != ' ')
		l->last[l->kept++ % LINE_LAST] = (unsigned char)kept;
}

/* Goes on with the word, the blanks after it, the target and the rest. */
static void
read_byte(struct line *l, int ch)
{
	bool blank = is_blank(ch);

	l->bytes++;
	switch (l->part) {
	case LINE_BEFORE:
		if (blank)
			return;
		l->part = LINE_WORD;
		l->is_method = l->is_token = true;
		l->bytes = 1;
		/* fall through */
	case LINE_WORD:
		if (blank) {
			l->part = LINE_GAP;
			break;
		}
		l->is_method =
		    l->is_method && (isupper(ch) || ch == '-' || ch == '_');
		l->is_token = l->is_token && is_of_token(ch);
		break;
	case LINE_GAP:
		if (blank)
			break;
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
	keep_last(l, ch);
	l->scheme = match("://", l->scheme, ch);
	l->is_path = l->is_path || (l->part == LINE_TARGET && l->scheme == 3);
	l->scheme %= 3;
}

/* Whether the last word of the line is a version, as in "RTSP/1.0". */
static enum version
version_at_end(const struct line *l)
{
	size_t len = l->kept < LINE_LAST ? l->kept : LINE_LAST, at, letters = 0;
	char text[LINE_LAST + 2] = "";
	const char *number;

	for (size_t i = 0; i < len; i++)
		text[i] = (char)l->last[(l->kept - len + i) % LINE_LAST];
	if (len > 0 && text[len - 1] == ' ')
		text[--len] = '\0';
	for (at = len; at > 0 && text[at - 1] != ' ';)
		at--;
	while (isalpha((unsigned char)text[at + letters]))
		letters++;
	number = text + at + letters + 1;
	if (at == 0 || letters == 0 || number[-1] != '/' || *number == '\0' ||
	    number[strspn(number, "0123456789.")] != '\0')
		return VERSION_NONE;
	return strncmp(text + at, "http/", 5) == 0 ? VERSION_HTTP
						   : VERSION_OTHER;
}

static enum line_kind
judge_whole(const struct line *l)
{
	enum version v = version_at_end(l);

	return v == VERSION_HTTP ||
		(l->is_method && l->is_path &&
		    (v == VERSION_OTHER || l->part != LINE_REST))
	    ? LINE_HTTP
	    : LINE_OTHER;
}

/* How many bytes are read before the line is judged without its end. */
static size_t
most(const struct line *l)
{
	if (l->part == LINE_BEFORE)
		return BLANKS_MAX;
	return l->is_token ? WORD_LINE_MAX : ODD_LINE_MAX;
}

/*
 * A server may take more for HTTP than the standard allows: methods that nobody
 * knows or that are no text, empty lines before them, other blanks than a space,
 * versions of other protocols.  So these count:
 * - a line that begins with a token and has a version of HTTP anywhere;
 * - any other that ends with one, which log lines and messages seldom do;
 * - a method and a target, with a version of another protocol or with none.
 */
enum line_kind
line_read(struct line *l, const char *data, size_t len)
{
	static const char WORD[] = "http/";

	for (size_t i = 0; i < len; i++) {
		int ch = (unsigned char)data[i];

		if (ch == '\n' && l->part != LINE_BEFORE)
			return judge_whole(l);
		read_byte(l, ch);
		l->matched = match(WORD, l->matched, tolower(ch));
		if (WORD[l->matched] == '\0') {
			if (l->is_token)
				return LINE_HTTP;
			l->matched = 0;
		}
		if (l->bytes > most(l))
			return l->part == LINE_BEFORE ? LINE_HTTP : LINE_OTHER;
	}
	return LINE_MORE;
}
