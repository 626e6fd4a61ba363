/*
 * bigjson.h: looks through JSON text without a parser.
 *
 * A JSON parser holds a large string two or three times over.  A body with the
 * content of a file is looked through instead: the member is found and decoded
 * where it lies, and only what is around it is parsed.  Text that is nested too
 * deeply is found before the parser, which calls itself, sees it.  Pure.
 */
#ifndef SANDLEASE_AGENT_BASE_BIGJSON_H
#define SANDLEASE_AGENT_BASE_BIGJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/json.h"
#include "common/str.h"

/* Where a value stands in its text. */
struct bigjson_value {
	size_t at, len;
};

/*
 * Finds the first member `name` of the object that the text is.  False when
 * there is none, or the text up to it is no object.
 */
bool bigjson_find(const char *text, size_t len, const char *name,
    struct bigjson_value *out);

/* Parses the object as if that member's value were null. */
int bigjson_parse_rest(const char *text, size_t len,
    const struct bigjson_value *without, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * Decodes the JSON string of `len` bytes, quotes included, in its place: the
 * result begins at s.  Returns its length, -1 when it is no valid string.
 */
ssize_t bigjson_unescape(char *s, size_t len);

/* True when arrays and objects are nested at most `max` deep. */
bool bigjson_depth_ok(const char *text, size_t len, int max);

#endif
