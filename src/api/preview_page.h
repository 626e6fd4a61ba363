/*
 * preview_page.h: the page that a person sees in a preview's place.
 */
#ifndef SANDLEASE_API_PREVIEW_PAGE_H
#define SANDLEASE_API_PREVIEW_PAGE_H

#include "web/call.h"

/*
 * Answers with the error's status and a page in plain words.  It says no more
 * than the JSON does, but for the way to the dashboard.
 */
void preview_page_reply(struct call *c, const struct err *e);

#endif
