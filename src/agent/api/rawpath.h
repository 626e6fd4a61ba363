/*
 * rawpath.h: the file that an address names, and its name for a client.
 */
#ifndef SANDLEASE_AGENT_API_RAWPATH_H
#define SANDLEASE_AGENT_API_RAWPATH_H

#include "agent/files/files.h"
#include "common/err.h"
#include "web/call.h"

/*
 * What follows the route's first segment, /files or /archive, is a path from
 * the root of the session.  nginx has decoded it once and resolved its dots.
 * The error's context tells it together with `operation`.
 */
int rawpath_of(struct call *c, const char *operation, char out[FILES_PATH_MAX],
    struct err *e) MUST_CHECK;

/*
 * Content-Disposition: bytes of a sandbox are saved, never shown as a page of
 * ours.  The name is the path's last segment and `suffix`.
 */
void rawpath_attach(struct call *c, const char *path, const char *suffix);

#endif
