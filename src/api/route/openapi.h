/*
 * openapi.h: makes GET /v1/openapi.json of the route and field tables.
 */
#ifndef SANDLEASE_API_ROUTE_OPENAPI_H
#define SANDLEASE_API_ROUTE_OPENAPI_H

#include "web/router.h"

/* The document of `routes`; the caller owns it. */
json_t *openapi_document(const struct route *routes, size_t count,
    const char *server_url);

/* Answers with the document of the current call's route table. */
handler_fn v1_openapi;

#endif
