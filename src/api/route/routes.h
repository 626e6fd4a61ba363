/*
 * routes.h: lists all routes of the HTTP API, and prints them.
 */
#ifndef SANDLEASE_API_ROUTE_ROUTES_H
#define SANDLEASE_API_ROUTE_ROUTES_H

#include <stdio.h>

#include "web/router.h"

extern const struct route ROUTES[];
extern const size_t ROUTE_COUNT;

/* Data-plane routes that write rows; src/agent/api/routes.c has the others. */
extern const struct route CONTAINER_ROUTES[];
extern const size_t CONTAINER_ROUTE_COUNT;

/* Prints a Markdown table; t/lint/routes.t compares docs/api.md with it. */
void routes_print(FILE *to);

#endif
