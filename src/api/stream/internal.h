/* internal.h: what stream/link.c and stream/ws.c know of each other. */
#ifndef SANDLEASE_API_STREAM_INTERNAL_H
#define SANDLEASE_API_STREAM_INTERNAL_H

#include "api/stream/link.h"

/* ---- of stream/link.c, for both kinds */

/* The socket of that name, not blocking; -1. */
int stream_connect(const char *path);

/* Something was said to the client. */
void stream_spoke(struct streams *all, struct stream *s);

/* Nothing more comes: nginx gets what is left, then the end. */
void stream_over(struct streams *all, struct stream *s);
void stream_close_side(struct streams *all, struct stream_side *d);

/* Counts it for that org.  False: the org has as many as it may. */
bool stream_count_org(struct streams *all, struct stream *s, const char *org,
    size_t len);

/* ---- of stream/ws.c, for streams that have a gate */

void stream_ws_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len);
void stream_ws_from_worker(struct streams *all, struct stream *s);

/* Whether what the client sends now could be kept or passed on. */
bool stream_ws_may_read(const struct stream *s);

/* After something was written: takes what the client has sent before. */
void stream_ws_go_on(struct streams *all, struct stream *s);

/* A worker that has not answered in time is given up. */
void stream_ws_look_at_clock(struct streams *all, struct stream *s);

/* The last frame, if one may stand here, and the end. */
void stream_ws_leave(struct streams *all, struct stream *s);

#endif
