/* escape.c: finds escapes such as "~." in what the user types. */
#include "cli/escape.h"

enum { CTRL_Z = 0x1a };

static enum escape_action
action_of(char c)
{
	switch (c) {
	case '.':
		return ESCAPE_DETACH;
	case CTRL_Z:
		return ESCAPE_SUSPEND;
	case '?':
		return ESCAPE_HELP;
	default:
		return ESCAPE_NONE;
	}
}

enum escape_action
escape_take(struct escape *s, const char *data, size_t len, struct buf *out,
    size_t *used)
{
	for (*used = 0; *used < len;) {
		char c = data[(*used)++];
		bool held = s->tilde;

		s->tilde = !held && s->fresh && c == '~';
		if (s->tilde)
			continue;
		if (held && action_of(c) != ESCAPE_NONE)
			return action_of(c); /* nothing sent: still fresh */
		if (held && c != '~')
			buf_add(out, "~", 1);
		buf_add(out, &c, 1);
		s->fresh = c == '\r' || c == '\n';
	}
	return ESCAPE_NONE;
}
