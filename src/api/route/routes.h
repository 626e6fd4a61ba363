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

/* As rows of a Markdown table; the README's is compared with this. */
void routes_print(FILE *to);

#endif
