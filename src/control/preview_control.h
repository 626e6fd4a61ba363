/*
 * preview_control.h: exposes ports of a session under URLs.
 *
 * A change is written into the row first.  relay_control.h then makes the relay
 * follow it: now if the session runs, else with its next start.
 */
#ifndef SANDLEASE_CONTROL_PREVIEW_CONTROL_H
#define SANDLEASE_CONTROL_PREVIEW_CONTROL_H

#include "control/control.h"

/* The host name that the app sees (src/api/v1/port_body.c describes them). */
enum preview_host {
	PREVIEW_LOCALHOST,
	PREVIEW_LOCALHOST_ONLY,
	PREVIEW_PUBLIC,
	PREVIEW_HOST__MAX
};
extern const char *const PREVIEW_HOSTS[PREVIEW_HOST__MAX + 1];

struct preview_options {
	int64_t port;
	const char *name;        /* NULL: none, or the one it has */
	const char *host;        /* NULL: localhost, or the one it has */
	const char *base_url;    /* NULL: the session's, or the one it has */
	int64_t expires_seconds; /* 0: never */
	/* fail with ERR_CONFLICT "port_already_exposed" if it is open */
	bool only_new;
};

/*
 * Exposes a port.  *out is the port as JSON with its sealed token; *created
 * says whether it is new.
 */
int preview_expose(struct control *ctl, const char *id, const char *tenant,
    const struct preview_options *options, json_t **out, bool *created,
    struct err *e) MUST_CHECK;

/* Makes a new token; connections that the old one opened are closed. */
int preview_rotate(struct control *ctl, const char *id, const char *tenant,
    int64_t port, json_t **out, struct err *e) MUST_CHECK;

/*
 * Closes a port.  *gone: the relay has confirmed; else the row is `closing`,
 * and the next start or the reaper finishes it.  ERR_NOT_FOUND
 * "port_not_exposed" if the port was not open.
 */
int preview_remove(struct control *ctl, const char *id, const char *tenant,
    int64_t port, bool *gone, struct err *e) MUST_CHECK;

/* Opens the sealed token of a port's JSON; show it only to the owner. */
int preview_token(const struct control *ctl, const char *id, int64_t port,
    const char *token_sealed, struct buf *out, struct err *e) MUST_CHECK;

#endif
