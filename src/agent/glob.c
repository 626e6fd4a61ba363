/* glob.c: patterns of paths. */
#include "agent/glob.h"

#include <stddef.h>

/* Where to go on when what follows does not match. */
struct retry {
	const char *pattern; /* behind the star; NULL: there was none */
	const char *path;    /* ... which ends here next time */
};

/* Past one character: continuation bytes are part of the one before. */
static const char *
past(const char *s)
{
	do
		s++;
	while (((unsigned char)*s & 0xc0) == 0x80);
	return s;
}

/* `**` as a name of its own. */
static bool
is_any_names(const char *begin, const char *p)
{
	return p[0] == '*' && p[1] == '*' && (p[2] == '/' || p[2] == '\0') &&
	    (p == begin || p[-1] == '/');
}

/* A later end for the star; a name's ends with its name. */
static bool
again(struct retry *name, struct retry *names, const char **p, const char **s)
{
	if (name->pattern != NULL && *name->path != '\0' &&
	    *name->path != '/') {
		name->path = past(name->path);
		*p = name->pattern;
		*s = name->path;
		return true;
	}
	name->pattern = NULL;
	if (names->pattern == NULL)
		return false;
	while (*names->path != '\0' && *names->path != '/')
		names->path++;
	if (*names->path == '\0')
		return false;
	names->path++;
	*p = names->pattern;
	*s = names->path;
	return true;
}

/*
 * Only the last star of each kind is ever tried again: an earlier one could
 * do no more than the later one does.
 */
bool
glob_match(const char *pattern, const char *path)
{
	struct retry name = { NULL, NULL }, names = { NULL, NULL };
	const char *p = pattern, *s = path;

	for (;;) {
		if (is_any_names(pattern, p)) {
			if (p[2] == '\0')
				return *s != '\0';
			name.pattern = NULL;
			names = (struct retry){ p += 3, s };
		} else if (*p == '*') {
			name = (struct retry){ ++p, s };
		} else if (*p == '\0' && *s == '\0') {
			return true;
		} else if (*p == '?' && *s != '\0' && *s != '/') {
			p++;
			s = past(s);
		} else if (*p != '\0' && *p == *s) {
			p++;
			s++;
		} else if (!again(&name, &names, &p, &s)) {
			return false;
		}
	}
}
