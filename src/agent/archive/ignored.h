/*
 * ignored.h: what git ignores in a directory.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_IGNORED_H
#define SANDLEASE_AGENT_ARCHIVE_IGNORED_H

#include "agent/run/helper.h"
#include "common/err.h"

/*
 * Writes the paths below `dir` to `to`, each ended by NUL; a directory of which
 * all is ignored is one.  Nothing outside a work tree, or without git.  Nothing
 * that the repository configures is run.
 */
int ignored_send(const char *dir, int to, const struct helper_boss *boss,
    struct err *e) MUST_CHECK;

#endif
