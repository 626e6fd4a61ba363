/*
 * port_body.h: reads which port a request wants to expose, on both surfaces.
 */
#ifndef SANDLEASE_API_V1_PORT_BODY_H
#define SANDLEASE_API_V1_PORT_BODY_H

#include "api/app.h"
#include "control/preview_control.h"

enum { PORT_HOSTNAME_MAX = 200 };

struct port_body {
	int64_t port;
	char name[65];
	char hostname[PORT_HOSTNAME_MAX + 1];
	int host; /* enum preview_host, -1: not given */
	int64_t expires_in_seconds;
	/* made of hostname, "" without one */
	char base_url[PORT_HOSTNAME_MAX + 16];
};

/*
 * Reads the body of the native route.  A port that is not allowed for previews
 * is an error and leaves an audit note (audit.h).  out->port is set even then,
 * if it was a number.
 */
int port_body_read(struct call *c, struct port_body *out, struct err *e)
    MUST_CHECK;

/*
 * The same for the SDK's route.  Members that are null or empty count as not
 * given.  *ignored lists unknown members (NULL: none).  The port of the SDK's
 * own container is not allowed either.
 */
int port_body_read_lenient(struct call *c, struct port_body *out,
    json_t **ignored, struct err *e) MUST_CHECK;

/* The body as options for preview_expose(); they borrow from the body. */
struct preview_options port_body_options(const struct port_body *b);

/* Reads `:port` of the route. */
int port_body_path(const struct call *c, int64_t *port, struct err *e)
    MUST_CHECK;

#endif
