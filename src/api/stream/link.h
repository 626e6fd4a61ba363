/*
 * link.h: links one connection of nginx with one of a wrapper.
 *
 * A stream is an event stream (events.h) or a WebSocket of /ws (ws.h); its
 * first byte says which.  Either way never more than one read is kept: a side
 * that does not take what there is stops the side that sends it.  When nginx's
 * side ends, so does the wrapper's, at once.
 */
#ifndef SANDLEASE_API_STREAM_LINK_H
#define SANDLEASE_API_STREAM_LINK_H

#include "api/stream/sides.h"

/* Takes a connection of nginx's; `busy`: only to refuse it in its own words. */
void stream_open(struct streams *all, int fd, bool busy);

/* What the poller says; the side is what its data pointed at. */
void stream_event(struct streams *all, struct stream_side *side,
    uint32_t events);

/* Nothing has been said for a while: a comment, so that nobody gives up. */
void stream_beat(struct streams *all, struct stream *s);

/* Ends it now, with an event if it has begun. */
void stream_cut(struct streams *all, struct stream *s, enum err_code code,
    const char *message);

/* Frees those that have ended. */
void stream_bury(struct streams *all);

/* Ends all without a word. */
void stream_drop(struct streams *all);

#endif
