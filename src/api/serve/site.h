/*
 * site.h: checks whether previews and dashboard are one site to a browser.
 *
 * Host names with the same registrable domain are one site: a page of the one
 * can set cookies for the other, and SameSite does not separate them.  The
 * public suffix list, which Debian keeps up to date, says which domains are
 * registrable.
 */
#ifndef SANDLEASE_API_SERVE_SITE_H
#define SANDLEASE_API_SERVE_SITE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/conf.h"

enum { SITE_MAX = 256 };

/*
 * Whether the two URLs are one site; if so, `site` is set to its domain.
 * `below`: `other` stands for any name below its host.
 */
bool site_is_shared(const char *url, const char *other, bool below,
    char site[SITE_MAX]);

/* Warns of each setting that puts previews on the dashboard's site. */
void site_warn(const struct conf *conf, FILE *to);

#endif
