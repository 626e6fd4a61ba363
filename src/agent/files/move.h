/*
 * move.h: mv.
 *
 * Into the destination if that is a directory, over it if it is a file.
 * Between file systems a copy is made beside the destination and takes its
 * place at once; only then the original goes.  So a failure on the way loses
 * nothing and leaves nothing behind.
 */
#ifndef SANDLEASE_AGENT_FILES_MOVE_H
#define SANDLEASE_AGENT_FILES_MOVE_H

#include "common/err.h"

/* Both absolute.  "file_not_found" is said of the source only. */
int move_path(const char *from, const char *to, struct err *e) MUST_CHECK;

/*
 * The half that works between file systems: `from`, of any kind, copied to
 * `to`, not into itself.  Modes and times come with it.
 */
int move_by_copy(const char *from, const char *to, struct err *e) MUST_CHECK;

#endif
