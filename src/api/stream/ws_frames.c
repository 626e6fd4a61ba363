/* ws_frames.c: finds and makes the frames of a WebSocket. */
#include "api/stream/ws_frames.h"

#include <string.h>

enum {
	FIN = 0x80,
	OPCODE = 0x0f,
	CONTROL = 0x08, /* in the opcode */
	TEXT = 1,
	CLOSE = 8,
	MASKED = 0x80,
	LENGTH = 0x7f,
	LENGTH_16 = 126,
	LENGTH_64 = 127,
	MASK_BYTES = 4
};

/* The size of the header, as far as the bytes so far tell it. */
static size_t
head_size(const struct ws_frames *f)
{
	size_t size = 2;

	if (f->have < size)
		return size;
	if ((f->head[1] & LENGTH) == LENGTH_16)
		size += 2;
	else if ((f->head[1] & LENGTH) == LENGTH_64)
		size += 8;
	return size + ((f->head[1] & MASKED) != 0 ? MASK_BYTES : 0);
}

static uint64_t
content_size(const struct ws_frames *f)
{
	unsigned first = f->head[1] & LENGTH;
	size_t bytes = first == LENGTH_64 ? 8 : first == LENGTH_16 ? 2 : 0;
	uint64_t size = bytes > 0 ? 0 : first;

	for (size_t i = 0; i < bytes; i++)
		size = size << 8 | f->head[2 + i];
	return size;
}

static bool
take_head(struct ws_frames *f, const char **data, size_t *len)
{
	while (*len > 0 && f->have < head_size(f)) {
		f->head[f->have++] = (unsigned char)**data;
		(*data)++;
		(*len)--;
	}
	return f->have == head_size(f);
}

/* If the content is complete, the next byte begins a header. */
static void
end_frame_if_over(struct ws_frames *f)
{
	f->in_frame = f->left > 0;
	if (!f->in_frame)
		f->have = 0;
}

static void
set_flags(const struct ws_frames *f, struct ws_frames_piece *out)
{
	unsigned opcode = f->head[0] & OPCODE;

	out->control = (opcode & CONTROL) != 0;
	out->first = !out->control && opcode != 0;
	out->text = opcode == TEXT;
	out->message_end =
	    !out->control && (f->head[0] & FIN) != 0 && f->left == 0;
}

bool
ws_frames_next(struct ws_frames *f, const char **data, size_t *len,
    struct ws_frames_piece *out)
{
	*out = (struct ws_frames_piece){ .is_head = !f->in_frame };
	if (*len == 0)
		return false;
	if (!f->in_frame) {
		if (!take_head(f, data, len))
			return false;
		f->size = f->left = content_size(f);
		out->raw = (const char *)f->head;
		out->len = f->have;
		set_flags(f, out);
		if (!out->control)
			f->in_message = (f->head[0] & FIN) == 0;
	} else {
		out->raw = *data;
		out->len = *len < f->left ? *len : (size_t)f->left;
		out->at = f->size - f->left;
		*data += out->len;
		*len -= out->len;
		f->left -= out->len;
		set_flags(f, out);
	}
	end_frame_if_over(f);
	return true;
}

bool
ws_frames_between_frames(const struct ws_frames *f)
{
	return !f->in_frame && f->have == 0;
}

bool
ws_frames_between_messages(const struct ws_frames *f)
{
	return ws_frames_between_frames(f) && !f->in_message;
}

void
ws_frames_unmask(const struct ws_frames *f, const struct ws_frames_piece *p,
    struct buf *to)
{
	static const unsigned char NONE[MASK_BYTES];
	unsigned first = f->head[1] & LENGTH;
	size_t before = first == LENGTH_64 ? 10 : first == LENGTH_16 ? 4 : 2;
	const unsigned char *mask =
	    (f->head[1] & MASKED) != 0 ? f->head + before : NONE;
	char *room = buf_room(to, p->len);

	for (size_t i = 0; i < p->len; i++)
		room[i] = (char)(p->raw[i] ^ mask[(p->at + i) % MASK_BYTES]);
	to->len += p->len;
}

static void
add_frame(struct buf *to, unsigned opcode, const char *data, size_t len)
{
	unsigned char head[WS_FRAMES_HEAD_MAX] = { (
	    unsigned char)(FIN | opcode) };
	size_t bytes = len < LENGTH_16 ? 0 : len < 0x10000 ? 2 : 8;

	head[1] = (unsigned char)(bytes == 0 ? len
		: bytes == 2                 ? LENGTH_16
					     : LENGTH_64);
	for (size_t i = 0; i < bytes; i++)
		head[2 + i] =
		    (unsigned char)((uint64_t)len >> (8 * (bytes - 1 - i)));
	buf_add(to, head, 2 + bytes);
	buf_add(to, data, len);
}

void
ws_frames_add_text(struct buf *to, const char *text, size_t len)
{
	add_frame(to, TEXT, text, len);
}

void
ws_frames_add_close(struct buf *to, unsigned code)
{
	const char data[] = { (char)(code >> 8), (char)code };

	add_frame(to, CLOSE, data, sizeof(data));
}
