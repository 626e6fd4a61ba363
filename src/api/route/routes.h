/*
 * routes.h: the whole HTTP API on one page, and what it is printed into.
 */
#ifndef SANDLEASE_API_ROUTE_ROUTES_H
#define SANDLEASE_API_ROUTE_ROUTES_H

#include <stdio.h>

#include "web/router.h"

extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;

/* What of a session's data plane makes rows; the rest is src/agent/api/routes.c. */
extern const struct route CONTAINER_ROUTES[];
extern const size_t CONTAINER_ROUTE_COUNT;

extern const struct jfield LOGIN_FIELDS[];
extern const size_t LOGIN_FIELD_COUNT;
extern const struct jfield ALIASES_FIELDS[];
extern const size_t ALIASES_FIELD_COUNT;
extern const struct jfield PORT_FIELDS[];
extern const size_t PORT_FIELD_COUNT;
extern const struct jfield TICKET_FIELDS[];
extern const size_t TICKET_FIELD_COUNT;

/* As rows of a Markdown table; the README's is compared with this. */
void routes_print(FILE *to);

#endif
