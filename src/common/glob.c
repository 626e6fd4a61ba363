/*
 * glob.c: matches paths with patterns.
 *
 * Follows all ways to match at once, as an NFA: `on[i]` says that the first i
 * bytes of the pattern can match the path read so far.  No way is tried twice.
 */
#include "common/glob.h"

#include <string.h>

#include "common/str.h"
#include "common/utf8.h"

struct glob {
	const char *text;
	size_t len;
	bool anchored; /* matches from the path's beginning only */
};

static struct glob
glob_of(const char *pattern)
{
	struct glob g = { .text = pattern };

	if (str_starts(g.text, "./"))
		g.text++;
	g.anchored = g.text[0] == '/';
	g.text += strspn(g.text, "/");
	g.len = strlen(g.text);
	while (g.len > 0 && g.text[g.len - 1] == '/')
		g.len--;
	g.anchored = g.anchored || memchr(g.text, '/', g.len) != NULL;
	return g;
}

const char *
glob_fault(const char *pattern)
{
	static const char BEFORE_A_LIST[] = "?*+@!";

	if (strlen(pattern) >= GLOB_MAX)
		return "is too long";
	if (glob_of(pattern).len == 0)
		return "must not be empty";
	if (strpbrk(pattern, "[]{}\\") != NULL || pattern[0] == '!')
		return "may only have the wildcards *, ** and ?";
	for (const char *s = pattern; (s = strchr(s, '(')) != NULL; s++)
		if (s > pattern && strchr(BEFORE_A_LIST, s[-1]) != NULL)
			return "may only have the wildcards *, ** and ?";
	return NULL;
}

/* The length of the character at s. */
static size_t
char_len(const char *s, size_t len)
{
	int n = utf8_sequence(s, len);

	return n > 0 ? (size_t)n : 1;
}

static bool
is_double(const struct glob *g, size_t i)
{
	return i + 1 < g->len && g->text[i] == '*' && g->text[i + 1] == '*';
}

/*
 * Switches on the states that are reached without reading a character.  Stars
 * may match nothing; where a name begins, two stars and their slash may match
 * no directory at all.
 */
static void
skip_stars(const struct glob *g, bool on[GLOB_MAX], bool begins)
{
	for (size_t i = 0; i < g->len; i++) {
		if (!on[i] || g->text[i] != '*')
			continue;
		if (!is_double(g, i)) {
			on[i + 1] = true;
			continue;
		}
		on[i + 2] = true;
		if (begins && i + 2 < g->len && g->text[i + 2] == '/')
			on[i + 3] = true;
	}
}

/* Replaces the states by those after the n bytes of one character. */
static void
read_char(const struct glob *g, bool on[GLOB_MAX], const char *ch, size_t n)
{
	bool next[GLOB_MAX] = { false };

	for (size_t i = 0; i < g->len; i++) {
		if (!on[i])
			continue;
		if (g->text[i] == '*')
			next[i] = next[i] || is_double(g, i) || *ch != '/';
		else if (g->text[i] == '?' && *ch != '/')
			next[i + 1] = true;
		else if (i + n <= g->len && memcmp(g->text + i, ch, n) == 0)
			next[i + n] = true;
	}
	memcpy(on, next, sizeof(next));
}

bool
glob_match(const char *pattern, const char *path)
{
	struct glob g = glob_of(pattern);
	bool on[GLOB_MAX] = { true };
	size_t len = strlen(path), n;

	for (size_t at = 0;; at += n) {
		bool begins = at == 0 || path[at - 1] == '/';

		on[0] = on[0] || (begins && !g.anchored);
		skip_stars(&g, on, begins);
		if ((path[at] == '/' || at == len) && on[g.len])
			return true;
		if (at == len)
			return false;
		n = char_len(path + at, len - at);
		read_char(&g, on, path + at, n);
	}
}
