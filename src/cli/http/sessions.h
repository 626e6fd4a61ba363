/*
 * sessions.h: sessions as people name them.
 */
#ifndef SANDLEASE_CLI_HTTP_SESSIONS_H
#define SANDLEASE_CLI_HTTP_SESSIONS_H

#include <stdio.h>

#include "cli/http/client.h"

/*
 * A session by its id, its name, or the beginning of its id if no other
 * begins so.
 */
int session_find(struct client *c, const char *word, char id[ID_MAX],
    struct err *e) MUST_CHECK;

/* client_call below /v1/sessions/{id}; `tail` is "" or begins with / or ?. */
int session_call(struct client *c, const char *method, const char *id,
    const char *tail, const json_t *body, json_t **out, struct err *e)
    MUST_CHECK;

typedef int session_fn(void *ctx, json_t *session, struct err *e);

/* All that `query` ("state=ready&", or "") finds, newest first, page by page. */
int session_each(struct client *c, const char *query, session_fn *each,
    void *ctx, struct err *e) MUST_CHECK;

/* Appends "label=KEY:VALUE&" for a "KEY=VALUE"; nothing for NULL. */
int session_query(const char *label, struct buf *query, struct err *e)
    MUST_CHECK;

/*
 * Waits until it is no longer `state` (-1 seconds: as long as it takes), and
 * says how it is then.  What its setup prints goes to `told`, if not NULL.
 */
int session_settle(struct client *c, const char *id, const char *state,
    int64_t seconds, FILE *told, json_t **out, struct err *e) MUST_CHECK;

#endif
