/*
 * ws_frames.h: finds and makes the frames of a WebSocket (RFC 6455).
 *
 * The pool must know where frames and messages end, to insert a message of its
 * own between them.  Pure: takes bytes in portions of any size and returns
 * pieces of frames.  The frames are not validated; client and wrapper do that.
 */
#ifndef SANDLEASE_API_STREAM_WS_FRAMES_H
#define SANDLEASE_API_STREAM_WS_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { WS_FRAMES_HEAD_MAX = 14 };

/* The position in a sequence of frames.  Start with { 0 }. */
struct ws_frames {
	unsigned char head[WS_FRAMES_HEAD_MAX];
	size_t have;         /* bytes of the header */
	bool in_frame;       /* the header is complete, the content is not */
	bool in_message;     /* a frame of the same message follows */
	uint64_t size, left; /* bytes of content; those still to come */
};

/* A frame's whole header, or a part of its content. */
struct ws_frames_piece {
	const char *raw; /* unchanged; borrowed from the input or ws_frames */
	size_t len;
	uint64_t at; /* offset in the content; 0 for a header */
	bool is_head;
	bool control;     /* ping, pong or close: allowed between any frames */
	bool first;       /* belongs to the first frame of a message */
	bool text;        /* ... and the message is text */
	bool message_end; /* the message ends with this piece */
};

/* Takes the next piece from *data, *len.  False: all bytes are taken. */
bool ws_frames_next(struct ws_frames *f, const char **data, size_t *len,
    struct ws_frames_piece *out);

/* Whether a message may be inserted here; and whether a control frame may. */
bool ws_frames_between_messages(const struct ws_frames *f);
bool ws_frames_between_frames(const struct ws_frames *f);

/* Appends a piece of content to `to`; removes the client's mask, if any. */
void ws_frames_unmask(const struct ws_frames *f,
    const struct ws_frames_piece *p, struct buf *to);

/* Append an unmasked frame: a whole text message, or a close with its code. */
void ws_frames_add_text(struct buf *to, const char *text, size_t len);
void ws_frames_add_close(struct buf *to, unsigned code);

#endif
