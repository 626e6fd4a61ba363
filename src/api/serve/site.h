/*
 * site.h: whether previews and dashboard are one site to a browser.
 *
 * Host names with one registrable domain are one site: a page of the one can set
 * cookies for the other, and SameSite does not tell them apart.  What is
 * registrable is in the public suffix list, which Debian keeps up to date.
 */
#ifndef SANDLEASE_API_SERVE_SITE_H
#define SANDLEASE_API_SERVE_SITE_H

#include <stdbool.h>
#include <stdio.h>

#include "common/conf.h"

enum { SITE_MAX = 256 };

/*
 * True when the two addresses are one site, whose domain is then in `site`.
 * `below`: the second stands for any name below its host.
 */
bool site_is_shared(const char *url, const char *other, bool below,
    char site[SITE_MAX]);

/* Writes a line for each setting that puts previews onto the dashboard's site. */
void site_warn(const struct conf *conf, FILE *to);

#endif
