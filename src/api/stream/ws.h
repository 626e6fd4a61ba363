/*
 * ws.h: a WebSocket of /ws: HTTP from nginx, HTTP to a wrapper, and for a
 * moment a worker, where a request for a port is carried out.
 *
 * For streams that have a gate (ws_gate.h).
 */
#ifndef SANDLEASE_API_STREAM_WS_H
#define SANDLEASE_API_STREAM_WS_H

#include "api/stream/sides.h"

void stream_ws_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_worker(struct streams *all, struct stream *s);

/* Whether what the client sends now could be kept or passed on. */
bool stream_ws_may_read(const struct stream *s);

/* After something was written: takes what the client has sent meanwhile. */
void stream_ws_resume(struct streams *all, struct stream *s);

/* A worker that has not answered in time is given up. */
void stream_ws_check_clock(struct streams *all, struct stream *s);

/* The last frame, if one may stand here, and the end. */
void stream_ws_leave(struct streams *all, struct stream *s);

#endif
