/* range.c: fuzzes the headers of range and conditional requests for a file. */
#include <string.h>

#include "agent/files/entity.h"
#include "fuzz.h"

/* Lines: method (unused), Range, the conditions, If-Range. */
int
fuzz_one(const uint8_t *data, size_t len)
{
	struct fuzz_call f;
	struct stat st = { .st_size = (off_t)(len * len), .st_ino = 7 };
	struct entity_conditions c;
	struct entity en;
	int64_t from = -1, part = -1;

	fuzz_call_make(&f, data, len);
	c = (struct entity_conditions){ .match = f.query,
		.none_match = f.shell,
		.modified_since = f.query,
		.unmodified_since = f.shell };
	entity_of(&st, &en);
	PROMISE(strlen(en.tag) < ENTITY_TAG_MAX);
	(void)entity_check(&en, &c, true);
	(void)entity_check(NULL, &c, false);
	switch (entity_range(&en, f.path, f.query, &from, &part)) {
	case ENTITY_WHOLE:
		PROMISE(from == 0 && part == en.size);
		break;
	case ENTITY_PART:
		PROMISE(from >= 0 && part > 0 && from + part <= en.size);
		break;
	case ENTITY_NO_PART:
		break;
	}
	return 0;
}
