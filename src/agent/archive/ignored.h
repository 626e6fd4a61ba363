/*
 * ignored.h: lists the files that git ignores in a directory.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_IGNORED_H
#define SANDLEASE_AGENT_ARCHIVE_IGNORED_H

#include "agent/run/helper.h"
#include "common/err.h"

/*
 * Writes the ignored paths below `dir` to `to`, each ended by NUL.  A directory
 * that is ignored as a whole is one path.  Writes nothing if `dir` is in no
 * work tree or git is missing.  Runs no program that the repository configures.
 */
int ignored_send(const char *dir, int to, const struct helper_boss *boss,
    struct err *e) MUST_CHECK;

#endif
