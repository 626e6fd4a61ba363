/*
 * sessions.h: finds sessions by id or name, lists them, waits for a state.
 */
#ifndef SANDLEASE_CLI_HTTP_SESSIONS_H
#define SANDLEASE_CLI_HTTP_SESSIONS_H

#include <stdio.h>

#include "cli/http/client.h"

/*
 * Finds a session by its id, its name, or the beginning of its id if no other
 * id begins so.
 */
int session_find(struct client *c, const char *word, char id[ID_MAX],
    struct err *e) MUST_CHECK;

/* client_call() below /v1/sessions/{id}; `tail` is "", "/..." or "?...". */
int session_call(struct client *c, const char *method, const char *id,
    const char *tail, const json_t *body, json_t **out, struct err *e)
    MUST_CHECK;

typedef int session_fn(void *ctx, json_t *session, struct err *e);

/* Calls `each` for every session that `query` ("state=ready&", or "") selects,
 * newest first. */
int session_each(struct client *c, const char *query, session_fn *each,
    void *ctx, struct err *e) MUST_CHECK;

/* Appends "label=KEY:VALUE&" for the label "KEY=VALUE"; nothing for NULL. */
int session_query(const char *label, struct buf *query, struct err *e)
    MUST_CHECK;

/*
 * Waits until the session is no longer in `state`, or `seconds` are over (-1:
 * never), and sets *out to the session.  The output of its setup goes to
 * `told`, if that is not NULL.
 */
int session_settle(struct client *c, const char *id, const char *state,
    int64_t seconds, FILE *told, json_t **out, struct err *e) MUST_CHECK;

#endif
