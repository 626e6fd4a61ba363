/*
 * session_json.h: a session as the API shows it.
 *
 * The row's half comes from sql/functions/session_json.sql; what only the
 * host knows (limits, preview URLs) is added here, and whether it is busy by
 * session_now.c.
 */
#ifndef SANDLEASE_API_V1_SESSION_JSON_H
#define SANDLEASE_API_V1_SESSION_JSON_H

#include "api/app.h"

/* The first `count` rows, appended to `list` as finished objects. */
int session_json_list(struct call *c, struct control *ctl, const struct rows *r,
    size_t count, json_t *list, struct err *e) MUST_CHECK;

/* The session as it is now.  ERR_NOT_FOUND alike for none and another's. */
int session_json_read(struct call *c, struct control *ctl, const char *id,
    json_t **out, struct err *e) MUST_CHECK;

/* A port's JSON: the sealed token becomes its URL. */
int session_json_show_port(struct call *c, struct control *ctl, const char *id,
    json_t *port, struct err *e) MUST_CHECK;

/* All of its ports, appended to `list`; errors as above. */
int session_json_ports(struct call *c, struct control *ctl, const char *id,
    json_t *list, struct err *e) MUST_CHECK;

#endif
