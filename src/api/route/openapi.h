/*
 * openapi.h: GET /v1/openapi.json, made from the route and field tables.
 */
#ifndef SANDLEASE_API_ROUTE_OPENAPI_H
#define SANDLEASE_API_ROUTE_OPENAPI_H

#include "common/json.h"

/* The caller owns it. */
json_t *openapi_document(const char *server_url);

#endif
