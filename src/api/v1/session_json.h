/*
 * session_json.h: makes the JSON of sessions and ports for clients.
 *
 * sql/functions/session_json.sql makes the part that is in rows.  This file
 * adds the part that only the host knows (limits, preview URLs).  session_now.c
 * adds whether the session is busy.
 */
#ifndef SANDLEASE_API_V1_SESSION_JSON_H
#define SANDLEASE_API_V1_SESSION_JSON_H

#include "api/app.h"

/* Appends the first `count` rows to `list`, as finished objects. */
int session_json_list(struct call *c, struct control *ctl, const struct rows *r,
    size_t count, json_t *list, struct err *e) MUST_CHECK;

/* Reads a session.  ERR_NOT_FOUND also if it is another tenant's. */
int session_json_read(struct call *c, struct control *ctl, const char *id,
    json_t **out, struct err *e) MUST_CHECK;

/* Replaces the sealed token in a port's JSON by its URL. */
int session_json_show_port(struct call *c, struct control *ctl, const char *id,
    json_t *port, struct err *e) MUST_CHECK;

/* Appends all ports of the session to `list`; errors as above. */
int session_json_ports(struct call *c, struct control *ctl, const char *id,
    json_t *list, struct err *e) MUST_CHECK;

#endif
