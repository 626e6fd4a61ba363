/*
 * port_probe.h: checks whether a program answers on a port of the cell.
 *
 * Either a TCP connection is enough, or (`http`) a GET must be answered with a
 * status from status_min to status_max.  Redirects are not followed and the
 * body is not read.
 */
#ifndef SANDLEASE_AGENT_RELAY_PORT_PROBE_H
#define SANDLEASE_AGENT_RELAY_PORT_PROBE_H

#include <stdbool.h>

#include "common/str.h"

enum { PROBE_MS = 5000, PROBE_HEAD_MAX = 4096, PROBE_WHY_MAX = 128 };

struct port_probe {
	int port;
	bool http;
	const char *path; /* borrowed; any text */
	int status_min, status_max;
};

enum probe_state {
	PROBE_CLOSED,  /* no program listens */
	PROBE_UNREADY, /* a program listens, but its answer is wrong or late */
	PROBE_READY
};

struct probe_answer {
	enum probe_state state;
	int status;              /* HTTP status; 0: none was received */
	char why[PROBE_WHY_MAX]; /* why the port is not ready; "": it is */
};

/* Probes the port once; takes PROBE_MS at most. */
void port_probe(const struct port_probe *p, struct probe_answer *out);

/*
 * Writes the probe's GET request.  Bytes that a request line cannot hold are
 * percent-encoded; a fragment is not sent.  Pure.
 */
void port_probe_request(struct buf *to, int port, const char *path);

/*
 * Returns the status in the first `len` bytes of a response and skips interim
 * responses (1xx).  0: more bytes are needed; -1: this is not HTTP.  Pure.
 */
int port_probe_status(const char *head, size_t len);

#endif
