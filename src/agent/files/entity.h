/*
 * entity.h: a file as HTTP sees it.
 *
 * Its tag and date, the conditions under which a request wants it, and the
 * part that is wanted (RFC 9110, 13 and 14).  Pure.
 */
#ifndef SANDLEASE_AGENT_FILES_ENTITY_H
#define SANDLEASE_AGENT_FILES_ENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { ENTITY_TAG_MAX = 64, ENTITY_DATE_MAX = 32 };

struct entity {
	char tag[ENTITY_TAG_MAX];   /* strong, with its quotes */
	char date[ENTITY_DATE_MAX]; /* as Last-Modified has it */
	int64_t modified;           /* in seconds */
	int64_t size;
};

void entity_of(const struct stat *st, struct entity *out);

/* The headers If-...; "" for those that did not come. */
struct entity_conditions {
	const char *match, *none_match, *modified_since, *unmodified_since;
};

enum entity_verdict { ENTITY_GO_ON, ENTITY_NOT_MODIFIED, ENTITY_FAILED };

/*
 * Whether to do what is asked.  NULL: there is no such file.  `reads`: GET and
 * HEAD, for which unchanged is ENTITY_NOT_MODIFIED.
 */
enum entity_verdict entity_check(const struct entity *en,
    const struct entity_conditions *c, bool reads);

enum entity_part { ENTITY_WHOLE, ENTITY_PART, ENTITY_NO_PART };

/*
 * What Range and If-Range ("" for none) ask for, in *from and *len.  Several
 * ranges, other units and what nobody understands mean the whole;
 * ENTITY_NO_PART: the file ends before.
 */
enum entity_part entity_range(const struct entity *en, const char *range,
    const char *if_range, int64_t *from, int64_t *len);

#endif
