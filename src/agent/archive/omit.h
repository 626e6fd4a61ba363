/*
 * omit.h: decides which files a backup omits.
 *
 * A backup omits paths that match a pattern (glob.h), exact paths (ignored by
 * git, or owned by the wrapper), and always the agent's temporary files
 * (temp_file.h).  An omitted directory is not entered.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_OMIT_H
#define SANDLEASE_AGENT_ARCHIVE_OMIT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

struct omit {
	struct buf text;       /* all items, each ended by NUL */
	const char **patterns; /* pointers into text */
	const char **paths;    /* pointers into text, sorted */
	size_t pattern_count, path_count;
};

#define auto_omit __attribute__((cleanup(omit_free)))

/*
 * Reads fd to its end: patterns, an empty item, then paths, each ended by NUL.
 * A slash at the end of an item is ignored.
 */
void omit_read(struct omit *o, int fd);

/* The same with items that are in o->text already. */
void omit_parse(struct omit *o);

/* Whether the backup omits `path`, which is relative to its directory. */
bool omit_has(const struct omit *o, const char *path);

void omit_free(struct omit *o);

#endif
