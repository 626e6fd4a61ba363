/*
 * relay_page.h: what is said when nothing listens on an exposed port.
 *
 * A complete HTTP/1.1 502: a page for people that names the ports that do
 * listen, JSON for programs.
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

/*
 * True when a request's head asks for an upgrade, or came by proxy/{port} of
 * the API: nginx says so by the prefix it took off.
 */
bool relay_page_for_programs(const char *head, size_t len);

/* The whole response. */
void relay_page_write(struct buf *to, int port, bool json,
    const struct port_list *listening);

#endif
