/*
 * events.h: passes an event stream between nginx and a wrapper (FastCGI).
 *
 * Passes records on as they arrive.  If the wrapper's side ends too early, a
 * stream that has begun gets a last event and a proper end.  A stream that has
 * not begun is left to nginx (see `unsent` in nginx/maps.conf.in).
 */
#ifndef SANDLEASE_API_STREAM_EVENTS_H
#define SANDLEASE_API_STREAM_EVENTS_H

#include "api/stream/sides.h"

/* False: the bytes are not valid FastCGI; the stream cannot continue. */
bool stream_events_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len);
bool stream_events_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len);

/* Sends a comment, so that clients and proxies keep a silent stream open. */
void stream_events_beat(struct streams *all, struct stream *s);

/* Sends the last event of a stream that has begun, and a proper end. */
void stream_events_leave(struct streams *all, struct stream *s,
    enum err_code code, const char *message);

/*
 * Answers with half a header: nginx then knows that the wrapper got nothing,
 * and may pass the request elsewhere.
 */
void stream_events_unsent(struct streams *all, struct stream *s);

#endif
