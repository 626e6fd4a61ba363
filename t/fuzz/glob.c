/* glob.c: fuzzes patterns and paths, and compares with a simple matcher. */
#include <string.h>

#include "common/glob.h"
#include "common/mem.h"
#include "fuzz.h"

enum { PLAIN_MAX = 24 }; /* the simple matcher is too slow for longer input */

/*
 * The simple matcher.  The pattern begins with a slash, so there is only one
 * place at which a match can begin.
 */
static bool
plain(const char *p, const char *s, bool begins)
{
	bool next = *s == '/';

	if (*p == '\0')
		return *s == '\0' || *s == '/';
	if (p[0] == '*' && p[1] == '*')
		return plain(p + 2, s, begins) ||
		    (begins && p[2] == '/' && plain(p + 3, s, begins)) ||
		    (*s != '\0' && plain(p, s + 1, next));
	if (*p == '*')
		return plain(p + 1, s, begins) ||
		    (*s != '\0' && *s != '/' && plain(p, s + 1, next));
	if (*s == '\0' || (*p == '?' ? *s == '/' : *p != *s))
		return false;
	return plain(p + 1, s + 1, next);
}

static bool
is_plain(const char *s)
{
	size_t len = strlen(s);

	for (size_t i = 0; i < len; i++)
		if ((s[i] & 0x80) != 0)
			return false;
	return len > 0 && len <= PLAIN_MAX && s[len - 1] != '/';
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_free char *text = xcalloc(1, len + 2);
	const char *path;

	memcpy(text, data, len);
	path = text + strlen(text) + (strlen(text) < len);
	if (glob_fault(text) != NULL)
		return 0;
	(void)glob_match(text, path);
	if (text[0] == '/' && text[1] != '/' && is_plain(text) &&
	    strlen(path) <= PLAIN_MAX && is_plain(path))
		PROMISE(glob_match(text, path) == plain(text + 1, path, true));
	return 0;
}
