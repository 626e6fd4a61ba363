/*
 * client.h: the HTTP API, a call at a time.
 */
#ifndef SANDLEASE_CLI_HTTP_CLIENT_H
#define SANDLEASE_CLI_HTTP_CLIENT_H

#include "cli/http/transfer.h"
#include "common/err.h"
#include "common/id.h"
#include "common/json.h"
#include "common/str.h"

/*
 * One call to the service.  `body` (may be NULL) stays the caller's.  A status
 * of 400 or more becomes an error with the server's own words, any other that
 * is no success one that says so; *out (may be
 * NULL) is the answer's JSON, or NULL for an empty one.  What a session did
 * not get because it was just being started is sent again.
 */
int client_call(struct client *c, const char *method, const char *path,
    const json_t *body, json_t **out, struct err *e) MUST_CHECK;

/* Any request, until its end. */
int client_run(struct client *c, const struct request *r, struct buf *answer,
    struct err *e) MUST_CHECK;

/*
 * GETs any URL without our key, as a browser would.  e->code is "unresolved"
 * when its host has no address, "unreachable" when nothing listens there,
 * "untrusted" when TLS failed.
 */
int client_fetch(struct client *c, const char *url, struct buf *out,
    long *status, struct err *e) MUST_CHECK;

/* Appends text to a URL; with `path` its slashes stay. */
void client_escape(struct buf *to, const char *text, bool path);

#endif
