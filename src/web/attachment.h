/* attachment.h: gives a download its name. */
#ifndef SANDLEASE_WEB_ATTACHMENT_H
#define SANDLEASE_WEB_ATTACHMENT_H

#include "web/call.h"

/*
 * Adds Content-Disposition: a browser shall save bytes of a sandbox, and never
 * show them as a page of our site.  The name is the path's last segment and
 * `suffix`.
 */
void attachment_name(struct call *c, const char *path, const char *suffix);

#endif
