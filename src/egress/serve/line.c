/* line.c: whether a client's first line is one of HTTP, as the line arrives. */
#include <ctype.h>
#include <string.h>

#include "egress/serve/serve.h"

/*
 * A server may take more for HTTP than the standard allows: methods that nobody
 * knows, empty lines before them, other blanks than a space.  So each line with
 * a version of HTTP in it counts.
 */
enum line_kind
line_read(struct line *l, const char *data, size_t len)
{
	static const char WORD[] = "http/";

	for (size_t i = 0; i < len; i++) {
		int ch = tolower((unsigned char)data[i]);

		if (!l->begun && isspace(ch))
			continue;
		if (ch == '\n' || (!l->begun && !isgraph(ch)))
			return LINE_OTHER;
		l->begun = true;
		if (ch != WORD[l->matched])
			l->matched = 0;
		/* no part of the word is its beginning, but for the first letter */
		if (ch == WORD[l->matched])
			l->matched++;
		if (WORD[l->matched] == '\0')
			return LINE_HTTP;
	}
	return LINE_MORE;
}
