/*
 * entity.h: computes a file's ETag and date, and checks a request's conditional
 * headers and its range against them (RFC 9110, 13 and 14).  Pure.
 */
#ifndef SANDLEASE_AGENT_FILES_ENTITY_H
#define SANDLEASE_AGENT_FILES_ENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { ENTITY_TAG_MAX = 64, ENTITY_DATE_MAX = 32 };

struct entity {
	char tag[ENTITY_TAG_MAX];   /* strong, with quotes */
	char date[ENTITY_DATE_MAX]; /* for Last-Modified */
	int64_t modified;           /* in seconds */
	int64_t size;
};

void entity_of(const struct stat *st, struct entity *out);

/* The headers If-...; "" for a header that is not there. */
struct entity_conditions {
	const char *match, *none_match, *modified_since, *unmodified_since;
};

enum entity_verdict { ENTITY_GO_ON, ENTITY_NOT_MODIFIED, ENTITY_FAILED };

/*
 * Whether the conditions allow the request.  en NULL: the file does not exist.
 * `reads`: the request is GET or HEAD, which get ENTITY_NOT_MODIFIED for a file
 * that has not changed.
 */
enum entity_verdict entity_check(const struct entity *en,
    const struct entity_conditions *c, bool reads);

enum entity_part { ENTITY_WHOLE, ENTITY_PART, ENTITY_NO_PART };

/*
 * Puts into *from and *len the part that Range and If-Range ("" for none) ask
 * for.  Several ranges, other units and bad syntax mean the whole file.
 * ENTITY_NO_PART: the range begins after the file's end.
 */
enum entity_part entity_range(const struct entity *en, const char *range,
    const char *if_range, int64_t *from, int64_t *len);

#endif
