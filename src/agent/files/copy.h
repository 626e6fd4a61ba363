/*
 * copy.h: copies a tree.
 *
 * Copies files with their holes and hard links, directories, symbolic links,
 * fifos and sockets; modes and times, but no owners and no extended attributes.
 * An entry that cannot be copied is an error, never left out.
 */
#ifndef SANDLEASE_AGENT_FILES_COPY_H
#define SANDLEASE_AGENT_FILES_COPY_H

#include "common/err.h"

/* Copies `from` to `to`, which must not exist; both absolute. */
int copy_tree(const char *from, const char *to, struct err *e) MUST_CHECK;

/* Removes a copy, also one with directories that are not writable. */
void copy_drop(const char *path);

#endif
