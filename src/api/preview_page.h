/*
 * preview_page.h: shows an error page in a browser, instead of a preview.
 */
#ifndef SANDLEASE_API_PREVIEW_PAGE_H
#define SANDLEASE_API_PREVIEW_PAGE_H

#include "web/call.h"

/*
 * Answers with the error's status and an HTML page.  The page tells no more
 * than the JSON does, except for a link to the dashboard.
 */
void preview_page_reply(struct call *c, const struct err *e);

#endif
