/*
 * page.h: what is said when an exposed port has no answer.
 *
 * A complete HTTP/1.1 502, a page for people or JSON for programs: nothing
 * listens, and these ports do; or the answer was none that can be passed on.
 */
#ifndef SANDLEASE_AGENT_RELAY_PAGE_H
#define SANDLEASE_AGENT_RELAY_PAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/str.h"

enum { RELAY_PORTS_MAX = 32 };

struct port_list {
	int port[RELAY_PORTS_MAX]; /* ascending */
	size_t count;
};

/* Adds the listening ports of a text like /proc/net/tcp. */
void relay_page_parse(const char *text, struct port_list *out);

/* The ports that listen here and now. */
void relay_page_ports(struct port_list *out);

/* The whole response.  `listening` NULL: the app's answer was refused. */
void relay_page_write(struct buf *to, int port, bool page,
    const struct port_list *listening);

#endif
