/*
 * request.h: what the relay needs to know of a request.
 *
 * The request comes from nginx, which writes the headers looked for here itself
 * and before those of its client, and asks once per connection.  So the first
 * piece of a connection is enough; what is not in it counts as not said, which
 * refuses an upgrade rather than allows one.
 */
#ifndef SANDLEASE_AGENT_RELAY_REQUEST_H
#define SANDLEASE_AGENT_RELAY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct relay_request {
	bool head;    /* the method is HEAD */
	bool upgrade; /* it asks for an upgrade, which nginx will carry out */
	bool probe;   /* it is no activity (X-Sandlease-Probe) */
	bool page;    /* an error is a page: a person asks (Accept), not by
			 proxy/{port} and not for an upgrade */
};

/* Looks at a request's head, or as much of it as has come. */
struct relay_request relay_request_read(const char *data, size_t len);

#endif
