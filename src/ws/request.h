/*
 * request.h: checks the HTTP request that opens a WebSocket.
 */
#ifndef SANDLEASE_WS_REQUEST_H
#define SANDLEASE_WS_REQUEST_H

#include <libwebsockets.h>

#include "common/json.h"

/*
 * True when the request may become a WebSocket; else answers it with an error.
 * `full`: too many are open.
 */
bool request_admit(struct lws *wsi, bool full);

/* Answers a request without an upgrade; -1, which ends the connection. */
int request_refuse(struct lws *wsi);

/* {"path":...,"args":{...}}, for the wrapper; the caller owns it. */
json_t *request_describe(struct lws *wsi);

#endif
