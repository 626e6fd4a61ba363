/*
 * escape.h: what is typed for us, not for the session.
 *
 * As ssh has it: a tilde at the beginning of a line, then a letter.  "~~" is a
 * tilde; any other pair is what it is.
 */
#ifndef SANDLEASE_CLI_ESCAPE_H
#define SANDLEASE_CLI_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum escape_action {
	ESCAPE_NONE,
	ESCAPE_DETACH,  /* ~. */
	ESCAPE_SUSPEND, /* ~^Z */
	ESCAPE_HELP,    /* ~? */
};

/* Start with { .fresh = true }. */
struct escape {
	bool fresh; /* at the beginning of a line */
	bool tilde; /* ... and a tilde was typed, which is held back */
};

/*
 * Appends what is for the session to `out`, up to the first action; *used says
 * how many of the bytes that were.
 */
enum escape_action escape_take(struct escape *s, const char *data, size_t len,
    struct buf *out, size_t *used);

#endif
