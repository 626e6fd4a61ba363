/*
 * escape.h: finds escapes such as "~." in what the user types.
 *
 * An escape is for this program, not for the session.  As in ssh, it is a tilde
 * at the beginning of a line and a second character.  "~~" sends one tilde; a
 * tilde before any other character is sent with it.
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
	bool tilde; /* a tilde was typed there, and is not sent yet */
};

/*
 * Appends the bytes that are for the session to `out`, up to the first escape.
 * Returns that escape; *used is how many bytes of `data` it has read.
 */
enum escape_action escape_take(struct escape *s, const char *data, size_t len,
    struct buf *out, size_t *used);

#endif
