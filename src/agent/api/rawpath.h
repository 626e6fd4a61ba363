/*
 * rawpath.h: finds the file that a URL names.
 */
#ifndef SANDLEASE_AGENT_API_RAWPATH_H
#define SANDLEASE_AGENT_API_RAWPATH_H

#include "agent/files/files.h"
#include "common/err.h"
#include "web/call.h"

/*
 * Writes the path to `out`: the part of the URL after the first segment, /files
 * or /archive, as a path from the root of the session.  nginx has decoded it
 * once and resolved its dots.  The error's context gets the path and
 * `operation`.
 */
int rawpath_of(struct call *c, const char *operation, char out[FILES_PATH_MAX],
    struct err *e) MUST_CHECK;

#endif
