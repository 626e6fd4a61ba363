/* replay.c: removes questions to the terminal from old output. */
#include "cli/replay.h"

#include <stdlib.h>
#include <string.h>

enum { ESC = 0x1b, BEL = 0x07, REPORTS_FROM = 11 };

/* ---- which sequences are questions; `s` is without ESC and its introducer */

/* CSI: asks for attributes, status, modes, version, window or keys. */
static bool
control_asks(const char *s, size_t len)
{
	switch (s[len - 1]) {
	case 'c':
	case 'n':
		return true;
	case 'p':
		return len > 1 && s[len - 2] == '$';
	case 'q':
		return s[0] == '>';
	case 'u':
		return s[0] == '?';
	case 't':
		return strtol(s, NULL, 10) >= REPORTS_FROM;
	default:
		return false;
	}
}

/* OSC: asks for a value by a question mark, as in "11;?". */
static bool
command_asks(const char *s, size_t len)
{
	return memmem(s, len, ";?", 2) != NULL;
}

/* DCS: asks for a setting or a capability. */
static bool
device_asks(const char *s, size_t len)
{
	return len >= 2 && (s[0] == '+' || s[0] == '$') && s[1] == 'q';
}

static bool
asks(const struct replay *r)
{
	const char *s = r->held + 2;
	size_t len = r->len - 2;

	return r->held[1] == '[' ? control_asks(s, len)
	    : r->held[1] == ']'  ? command_asks(s, len)
				 : device_asks(s, len);
}

/* ---- where sequences end */

static bool
is_complete(const struct replay *r)
{
	char last = r->held[r->len - 1];

	if (r->len < 3)
		return false;
	if (r->held[1] == '[')
		return last >= '@' && last <= '~';
	return last == BEL || (last == '\\' && r->held[r->len - 2] == ESC);
}

/* False for a sequence of another kind, or one that is too long. */
static bool
may_be_question(const struct replay *r)
{
	return r->len < REPLAY_HELD_MAX - 1 &&
	    (r->len < 2 || strchr("[]P", r->held[1]) != NULL);
}

void
replay_end(struct replay *r, struct buf *out)
{
	if (r->len > 0)
		buf_add(out, r->held, r->len);
	r->len = 0;
}

void
replay_add(struct replay *r, const char *data, size_t len, struct buf *out)
{
	for (; len > 0; data++, len--) {
		if (r->len == 0 && *data != ESC) {
			buf_add(out, data, 1);
			continue;
		}
		r->held[r->len++] = *data;
		r->held[r->len] = '\0';
		if (is_complete(r) && asks(r))
			r->len = 0;
		else if (is_complete(r) || !may_be_question(r))
			replay_end(r, out);
	}
}
