/*
 * events.h: an event stream: FastCGI from nginx, FastCGI to a wrapper.
 *
 * Passes records on as they come.  When the wrapper's side ends before its
 * time, a stream that has begun gets a last event and a proper end; one that
 * has not is left to nginx (see `unsent` in nginx/maps.conf.in).
 */
#ifndef SANDLEASE_API_STREAM_EVENTS_H
#define SANDLEASE_API_STREAM_EVENTS_H

#include "api/stream/sides.h"

/* False: this is no FastCGI that we know; the stream cannot go on. */
bool stream_events_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len);
bool stream_events_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len);

/* A comment, so that nobody gives up a silent stream. */
void stream_events_beat(struct streams *all, struct stream *s);

/* The last event of a stream that has begun, and a proper end. */
void stream_events_leave(struct streams *all, struct stream *s,
    enum err_code code, const char *message);

/*
 * Answers with half a header, so that nginx knows that nothing was sent on and
 * may send the request elsewhere.
 */
void stream_events_unsent(struct streams *all, struct stream *s);

#endif
