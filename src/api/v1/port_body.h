/*
 * port_body.h: which port is to be exposed, as either surface is asked.
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
	int host; /* enum preview_host, -1: not said */
	int64_t expires_in_seconds;
	/* made of hostname, "" without one */
	char base_url[PORT_HOSTNAME_MAX + 16];
};

/*
 * The body of the native route.  Whoever wants a port that is not for
 * previews is noted (audit.h); out->port is what was wanted also then, if it
 * was a number.
 */
int port_body_read(struct call *c, struct port_body *out, struct err *e)
    MUST_CHECK;

/*
 * The same of the SDK's: members that are null or empty do not count, those that
 * are unknown are named in *ignored (NULL: none), and its container's own port
 * is not for previews either.
 */
int port_body_read_lenient(struct call *c, struct port_body *out,
    json_t **ignored, struct err *e) MUST_CHECK;

/* The same for preview_expose(); it borrows from the body. */
struct preview_options port_body_options(const struct port_body *b);

/* `:port` of the route. */
int port_body_path(const struct call *c, int64_t *port, struct err *e)
    MUST_CHECK;

#endif
