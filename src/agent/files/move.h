/*
 * move.h: moves a file or directory, as mv does.
 *
 * Moves into the destination if that is a directory, and replaces the
 * destination if that is a file.  Between file systems, makes a copy beside the
 * destination, renames the copy over the destination, and only then removes the
 * original.  So a failure on the way loses nothing and leaves nothing behind.
 */
#ifndef SANDLEASE_AGENT_FILES_MOVE_H
#define SANDLEASE_AGENT_FILES_MOVE_H

#include "common/err.h"

/* Both absolute.  "file_not_found" always means the source. */
int move_path(const char *from, const char *to, struct err *e) MUST_CHECK;

/*
 * The part for two file systems: copies `from`, of any type, to `to` with modes
 * and times, and removes it.  Refuses to move a directory into itself.
 */
int move_by_copy(const char *from, const char *to, struct err *e) MUST_CHECK;

#endif
