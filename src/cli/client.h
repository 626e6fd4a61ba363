/*
 * client.h: the HTTP API, seen from outside.
 */
#ifndef SANDLEASE_CLI_CLIENT_H
#define SANDLEASE_CLI_CLIENT_H

#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

struct client; /* one connection, kept open between calls */

/* Reads SANDLEASE_URL and SANDLEASE_API_KEY; one sentence when missing. */
struct client *client_new(struct err *e);
void client_free(struct client *c);

/*
 * One call below SANDLEASE_URL.  `body` (may be NULL) stays the caller's.  A
 * status of 400 or more becomes an error with the server's own words; *out
 * (may be NULL) is the answer's JSON, or NULL for an empty one.
 */
int client_call(struct client *c, const char *method, const char *path,
    const json_t *body, json_t **out, struct err *e) MUST_CHECK;

/* GETs any URL without our key, as a browser would. */
int client_fetch(struct client *c, const char *url, struct buf *out,
    long *status, struct err *e) MUST_CHECK;

#endif
