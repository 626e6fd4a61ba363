/*
 * copy.h: a tree, copied.
 *
 * Files with their holes and all their names, directories, links, fifos and
 * sockets; with modes and times, without owners and extended attributes.  What cannot be copied is an error, never left out.
 */
#ifndef SANDLEASE_AGENT_FILES_COPY_H
#define SANDLEASE_AGENT_FILES_COPY_H

#include "common/err.h"

/* What is at `from` also at `to`, where nobody is; both absolute. */
int copy_tree(const char *from, const char *to, struct err *e) MUST_CHECK;

/* Removes a copy that came to nothing, also of directories that are shut. */
void copy_drop(const char *path);

#endif
