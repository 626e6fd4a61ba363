/*
 * request.h: reads from a request's head the few facts that the relay needs.
 *
 * nginx sends one request on each connection.  It writes the headers that are
 * read here itself, and before those of its client, so the first piece of a
 * connection has them.  A header that is not in the first piece counts as
 * absent: at worst an upgrade is refused, never allowed by mistake.
 */
#ifndef SANDLEASE_AGENT_RELAY_REQUEST_H
#define SANDLEASE_AGENT_RELAY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct relay_request {
	bool head;    /* the method is HEAD */
	bool upgrade; /* asks for a WebSocket, which nginx will pass on */
	bool probe;   /* does not count as activity (X-Sandlease-Probe) */
	bool page;    /* errors are HTML: Accept has it, the request did not
			 come by proxy/{port} and asks for no upgrade */
};

/* Reads a request's head, or the part of it that has arrived. */
struct relay_request relay_request_read(const char *data, size_t len);

#endif
