/*
 * error_page.h: writes a small HTML page for a person; programs get JSON
 * instead.
 *
 * Its Content-Security-Policy allows nothing but the page's own style: no
 * script, no form, nothing from elsewhere.  nginx/preview-pages.conf.in has the
 * same page.
 */
#ifndef SANDLEASE_WEB_ERROR_PAGE_H
#define SANDLEASE_WEB_ERROR_PAGE_H

#include <stdbool.h>

#include "common/str.h"

#define NOTICE_TYPE "text/html; charset=utf-8"
#define NOTICE_POLICY                                                          \
	"default-src 'none'; "                                                 \
	"style-src 'sha256-nsW6dYS7mXXuLedRqlXv09X/Tt7UpnPPP0XeB3Qqrns='; "    \
	"base-uri 'none'; form-action 'none'"

/* True when an Accept header names HTML, and before JSON: it is a browser. */
bool error_page_wanted(const char *accept);

/* Appends text, with the special characters of HTML escaped. */
void error_page_escape(struct buf *to, const char *text);

/*
 * Appends the page.  `title` is text; `html` is markup that follows the title.
 * With reload_seconds > 0 the browser reloads the page after that time.
 */
void error_page_write(struct buf *to, const char *title, const char *html,
    int reload_seconds);

#endif
