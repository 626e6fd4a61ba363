/*
 * page.h: writes the relay's own response when the app has none.
 *
 * The response is a complete HTTP/1.1 502, with a page for people or JSON for
 * programs.  It says either that nothing listens on the port, and which ports
 * do listen, or that the app's response is not valid HTTP.
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

/* Lists the TCP ports that are listening now in this network namespace. */
void relay_page_ports(struct port_list *out);

/*
 * Appends the whole response.  `page`: HTML, else JSON.  `listening` NULL: the
 * app answered, but not with valid HTTP.
 */
void relay_page_write(struct buf *to, int port, bool page,
    const struct port_list *listening);

#endif
