/*
 * request.h: the HTTP request that wants to become a WebSocket.
 */
#ifndef SANDLEASE_WS_REQUEST_H
#define SANDLEASE_WS_REQUEST_H

#include <libwebsockets.h>

#include "common/json.h"

/* True when it may; else it has been answered.  `full`: there are too many. */
bool request_admit(struct lws *wsi, bool full);

/* Answers a request that does not even want to; -1, which ends it. */
int request_refuse(struct lws *wsi);

/* {"path":...,"args":{...}}, for the wrapper; the caller's. */
json_t *request_describe(struct lws *wsi);

#endif
