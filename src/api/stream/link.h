/*
 * link.h: links one connection of nginx with one of a wrapper.
 *
 * A stream is an event stream (events.h) or a WebSocket of /ws (ws.h); its
 * first byte says which.  At most one read is buffered: while one side does not
 * take its bytes, the other side is not read.  When nginx's side ends, the
 * wrapper's side is closed at once.
 */
#ifndef SANDLEASE_API_STREAM_LINK_H
#define SANDLEASE_API_STREAM_LINK_H

#include "api/stream/sides.h"

/* Takes a connection of nginx.  `busy`: only to read its head and refuse. */
void stream_open(struct streams *all, int fd, bool busy);

/* Handles an event of the poller; `side` is the event's data. */
void stream_event(struct streams *all, struct stream_side *side,
    uint32_t events);

/* The stream was silent for a while: checks it, and sends a comment. */
void stream_beat(struct streams *all, struct stream *s);

/* Ends the stream now, with a last event if it has begun. */
void stream_cut(struct streams *all, struct stream *s, enum err_code code,
    const char *message);

/* Frees the streams that have ended. */
void stream_bury(struct streams *all);

/* Ends and frees all streams, without a last event. */
void stream_drop(struct streams *all);

#endif
