/*
 * ws.h: passes a WebSocket of /ws between nginx, a wrapper and a worker.
 *
 * Speaks HTTP with nginx and the wrapper, and FastCGI with the worker, which
 * serves the client's requests for ports.  For streams that have a gate
 * (ws_gate.h).
 */
#ifndef SANDLEASE_API_STREAM_WS_H
#define SANDLEASE_API_STREAM_WS_H

#include "api/stream/sides.h"

void stream_ws_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_worker(struct streams *all, struct stream *s);

/* Whether further bytes of the client can be passed on or kept. */
bool stream_ws_may_read(const struct stream *s);

/* After a write: passes on the client's bytes that wait in the gate. */
void stream_ws_resume(struct streams *all, struct stream *s);

/* Gives up a worker that has not answered in time. */
void stream_ws_check_clock(struct streams *all, struct stream *s);

/* Sends a close frame, if one is allowed at this point, and ends the stream. */
void stream_ws_leave(struct streams *all, struct stream *s);

#endif
