/* sse_read.c: parses server-sent events. */
#include "common/sse_read.h"

#include <string.h>

/* The value of a line "name: value" or "name:value"; NULL: another name. */
static const char *
value_of(const struct buf *line, const char *name)
{
	size_t len = strlen(name);

	if (line->len <= len || memcmp(line->data, name, len) != 0 ||
	    line->data[len] != ':')
		return NULL;
	return line->data + len + (line->data[len + 1] == ' ' ? 2 : 1);
}

static void
read_field(struct sse_read *s)
{
	const char *end = s->line.data + s->line.len;
	const char *v;

	if ((v = value_of(&s->line, "data")) != NULL) {
		if (s->has_data)
			buf_add(&s->data, "\n", 1);
		buf_add(&s->data, v, (size_t)(end - v));
		s->has_data = true;
	} else if ((v = value_of(&s->line, "event")) != NULL) {
		s->name.len = 0;
		buf_add(&s->name, v, (size_t)(end - v));
	} else if ((v = value_of(&s->line, "id")) != NULL) {
		/* an id that contains a NUL cannot be sent back in a header */
		if (strlen(v) == (size_t)(end - v))
			(void)str_copy(s->next_id, sizeof(s->next_id), v);
	}
}

/*
 * The id changes only after event() has accepted the event: one that was not
 * accepted must be requested again.
 */
static bool
end_event(struct sse_read *s)
{
	bool taken = !s->has_data ||
	    s->event(s->ctx, s->name.len > 0 ? s->name.data : NULL,
		s->data.data, s->data.len);

	if (taken)
		memcpy(s->id, s->next_id, sizeof(s->id));
	s->data.len = s->name.len = 0;
	s->has_data = false;
	return taken;
}

/* Handles a complete line; an empty one ends the event. */
static bool
end_line(struct sse_read *s)
{
	bool go_on = true;

	if (s->line.len == 0)
		return end_event(s);
	if (s->line.data[0] != ':')
		read_field(s);
	else if (s->comment != NULL)
		go_on = s->comment(s->ctx);
	s->line.len = 0;
	return go_on;
}

bool
sse_read_feed(struct sse_read *s, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end) {
		const char *stop = bytes;
		size_t piece;

		if (s->after_cr && *bytes == '\n') {
			s->after_cr = false; /* the rest of CR LF */
			bytes++;
			continue;
		}
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		piece = (size_t)(stop - bytes);
		if (s->max > 0 && piece > 0 &&
		    s->line.len + s->data.len + piece > s->max)
			return false;
		if (piece > 0)
			buf_add(&s->line, bytes, piece);
		s->after_cr = false;
		bytes = stop;
		if (stop == end)
			break;
		s->after_cr = *stop == '\r';
		bytes++;
		if (!end_line(s))
			return false;
	}
	return true;
}

void
sse_read_restart(struct sse_read *s)
{
	s->line.len = s->data.len = s->name.len = 0;
	s->has_data = s->after_cr = false;
	memcpy(s->next_id, s->id, sizeof(s->next_id));
}

void
sse_read_free(struct sse_read *s)
{
	buf_free(&s->line);
	buf_free(&s->data);
	buf_free(&s->name);
}
