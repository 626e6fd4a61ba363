/*
 * listing.h: writes the entries of a directory as JSON while it reads them.
 *
 * A tenant decides how many entries there are and how they are called.  So none
 * is kept in memory after it was written.
 */
#ifndef SANDLEASE_AGENT_API_LISTING_H
#define SANDLEASE_AGENT_API_LISTING_H

#include <stdbool.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/str.h"
#include "web/call.h"

struct listing {
	const char *path;  /* as the client wrote it */
	const char *where; /* the same, absolute */
	bool recursive;
	bool hidden; /* also names that begin with a dot */
};

/*
 * Answers with the entries, in no particular order.  Entries that vanish
 * meanwhile are left out, and so is the content of subdirectories that cannot
 * be read.  It is an error only if the directory itself cannot be read.
 */
int listing_reply(struct call *c, const struct listing *l, struct err *e)
    MUST_CHECK;

/*
 * Appends {name, absolutePath, relativePath, type, size, modifiedAt, mode,
 * permissions} of the entry `path` below `top`.  Reads no file.
 */
void listing_entry(struct buf *to, const char *top, const char *path,
    const struct stat *st);

#endif
