/*
 * client.h: calls the HTTP API and waits for the answer.
 */
#ifndef SANDLEASE_CLI_HTTP_CLIENT_H
#define SANDLEASE_CLI_HTTP_CLIENT_H

#include "cli/http/transfer.h"
#include "common/err.h"
#include "common/id.h"
#include "common/json.h"
#include "common/str.h"

/*
 * Makes one call to the service.  The caller keeps `body`, which may be NULL.
 * *out is the answer's JSON, or NULL if the answer is empty; `out` may be NULL.
 * A status of 400 or more becomes an error with the server's words.  Any other
 * status that is no success is an error, too.  While the session is starting
 * and has not got the call, the call is retried for at most ten seconds.
 */
int client_call(struct client *c, const char *method, const char *path,
    const json_t *body, json_t **out, struct err *e) MUST_CHECK;

/* Makes any request and waits for its end. */
int client_run(struct client *c, const struct request *r, struct buf *answer,
    struct err *e) MUST_CHECK;

/*
 * GETs any URL without the API key, as a browser does.  e->code is "unresolved"
 * if its host has no address, "unreachable" if nothing listens there,
 * "untrusted" if TLS failed.
 */
int client_fetch(struct client *c, const char *url, struct buf *out,
    long *status, struct err *e) MUST_CHECK;

/* Appends text to a URL, percent-encoded; with `path` slashes stay slashes. */
void client_escape(struct buf *to, const char *text, bool path);

#endif
