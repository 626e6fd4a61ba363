/*
 * openapi.h: GET /v1/openapi.json, made from the route and field tables.
 */
#ifndef SANDLEASE_API_ROUTE_OPENAPI_H
#define SANDLEASE_API_ROUTE_OPENAPI_H

#include "web/router.h"

/* The caller owns it. */
json_t *openapi_document(const struct route *routes, size_t count,
    const char *server_url);

/* Answers with the document of the table in which it is a route itself. */
handler_fn v1_openapi;

#endif
