/*
 * ws_frames.h: the frames of a WebSocket (RFC 6455), and nothing else.
 *
 * Whoever stands between two ends has to know where a frame and a message end,
 * to put one of its own between them.  Pure: bytes in, pieces out, in whatever
 * portions they come; nothing is judged, that is the ends' own affair.
 */
#ifndef SANDLEASE_API_STREAM_WS_FRAMES_H
#define SANDLEASE_API_STREAM_WS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { WS_FRAMES_HEAD_MAX = 14 };

/* Where in a sequence of frames one is.  Start with { 0 }. */
struct ws_frames {
	unsigned char head[WS_FRAMES_HEAD_MAX];
	size_t have;         /* bytes of the header */
	bool in_frame;       /* the header is complete, its content is not */
	bool in_message;     /* a frame of the same message follows */
	uint64_t size, left; /* bytes of content; those still to come */
};

/* A frame's whole header, or some of its content. */
struct ws_frames_piece {
	const char *raw; /* as it came; borrowed from the input or the frames */
	size_t len;
	uint64_t at; /* the content's offset; of a header 0 */
	bool is_head;
	bool control;     /* ping, pong or close: between any two frames */
	bool first;       /* of the first frame of its message */
	bool text;        /* ... which is text */
	bool message_end; /* the message ends with it */
};

/* Takes the next piece out of *data, *len.  False: everything is taken. */
bool ws_frames_next(struct ws_frames *f, const char **data, size_t *len,
    struct ws_frames_piece *out);

/* Whether a message may stand here; a control frame may at each frame's end. */
bool ws_frames_between_messages(const struct ws_frames *f);
bool ws_frames_between_frames(const struct ws_frames *f);

/* Adds a piece of content, without the client's mask if it has one. */
void ws_frames_unmask(const struct ws_frames *f,
    const struct ws_frames_piece *p, struct buf *to);

/* Adds a server's frame: a whole text message, or a close with its code. */
void ws_frames_add_text(struct buf *to, const char *text, size_t len);
void ws_frames_add_close(struct buf *to, unsigned code);

#endif
