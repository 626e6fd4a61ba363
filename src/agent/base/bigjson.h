/*
 * bigjson.h: finds and decodes a member of JSON text without a parser.
 *
 * A JSON parser holds a large string two or three times in memory.  For a body
 * with the content of a file, these functions find the one large member and
 * decode it in place; only the rest of the body is parsed.  The parser is
 * recursive, so bigjson_depth_ok() finds text that is nested too deeply before
 * the parser sees it.  Pure.
 */
#ifndef SANDLEASE_AGENT_BASE_BIGJSON_H
#define SANDLEASE_AGENT_BASE_BIGJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/json.h"
#include "common/str.h"

/* The place of a value in the text. */
struct bigjson_value {
	size_t at, len;
};

/*
 * Finds the first member `name` of the object in `text`.  False when the object
 * has no such member, or the text before that member is not JSON.
 */
bool bigjson_find(const char *text, size_t len, const char *name,
    struct bigjson_value *out);

/* Parses the object as if the value `without` were null. */
int bigjson_parse_rest(const char *text, size_t len,
    const struct bigjson_value *without, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * Decodes the JSON string of `len` bytes, quotes included, in place: the result
 * begins at s.  Returns the result's length, -1 when s is no valid string.
 */
ssize_t bigjson_unescape(char *s, size_t len);

/* True when arrays and objects are nested at most `max` deep. */
bool bigjson_depth_ok(const char *text, size_t len, int max);

#endif
