/*
 * port_probe.h: whether something answers on a port of the cell.
 *
 * A connection is enough, or a GET must be answered with a status that was
 * asked for; redirects are not followed and the body is not read.
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
	PROBE_CLOSED,  /* nobody listens */
	PROBE_UNREADY, /* somebody does, but does not answer as wanted */
	PROBE_READY
};

struct probe_answer {
	enum probe_state state;
	int status;              /* of HTTP; 0: there was none */
	char why[PROBE_WHY_MAX]; /* "" when ready */
};

/* Asks once; takes PROBE_MS at most. */
void port_probe(const struct port_probe *p, struct probe_answer *out);

/*
 * The request.  Whatever cannot stand in a request line is percent-encoded; a
 * fragment is not sent.  Pure.
 */
void port_probe_request(struct buf *to, int port, const char *path);

/*
 * The status in the beginning of an answer, provisional ones passed over.
 * 0: it is not there yet; -1: this is not HTTP.  Pure.
 */
int port_probe_status(const char *head, size_t len);

#endif
