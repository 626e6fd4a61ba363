/*
 * listing.h: a directory's entries as JSON, written as they are read.
 *
 * A tenant decides how many there are and what they are called: nothing is
 * kept of one that has been written.
 */
#ifndef SANDLEASE_AGENT_API_LISTING_H
#define SANDLEASE_AGENT_API_LISTING_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/str.h"
#include "web/call.h"

struct listing {
	const char *path;  /* as the caller wrote it */
	const char *where; /* the same, absolute */
	bool recursive;
	bool hidden; /* also names that begin with a dot */
};

/*
 * Answers with the entries, in no order.  What goes away meanwhile is not
 * among them, nor what a directory hides that cannot be read.  An error only
 * of the directory itself.
 */
int listing_reply(struct call *c, const struct listing *l, struct err *e)
    MUST_CHECK;

/*
 * Appends {name, absolutePath, relativePath, type, size, modifiedAt, mode,
 * permissions} of the entry `path` below `top`.  Pure.
 */
void listing_entry(struct buf *to, const char *top, const char *path,
    const struct stat *st);

#endif
