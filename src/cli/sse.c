/* sse.c: reading server-sent events. */
#include "cli/sse.h"

#include <string.h>

/* The value of a line "name: value" or "name:value"; NULL if it is another. */
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
take_field(struct sse *s)
{
	const char *end = s->line.data + s->line.len;
	const char *id = value_of(&s->line, "id");
	const char *data = value_of(&s->line, "data");

	if (id != NULL && strlen(id) == (size_t)(end - id))
		(void)str_copy(s->next_id, sizeof(s->next_id), id);
	if (data == NULL)
		return;
	if (s->has_data)
		buf_add(&s->data, "\n", 1);
	buf_add(&s->data, data, (size_t)(end - data));
	s->has_data = true;
}

/* Its id counts once it has been taken: what was not is asked for again. */
static bool
end_event(struct sse *s)
{
	bool go_on = !s->has_data || s->emit(s->ctx, s->data.data, s->data.len);

	if (go_on)
		memcpy(s->id, s->next_id, sizeof(s->id));
	s->data.len = 0;
	s->has_data = false;
	return go_on;
}

/* A line is complete; an empty one ends the event. */
static bool
take_line(struct sse *s)
{
	if (s->line.len == 0)
		return end_event(s);
	take_field(s);
	s->line.len = 0;
	return true;
}

static bool
add_bytes(struct sse *s, const char *bytes, size_t len)
{
	if (len == 0)
		return true;
	if (s->line.len + s->data.len + len > SSE_EVENT_MAX)
		return false;
	buf_add(&s->line, bytes, len);
	return true;
}

bool
sse_feed(struct sse *s, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end) {
		const char *stop = bytes;

		if (s->after_cr && *bytes == '\n') {
			s->after_cr = false; /* the rest of CR LF */
			bytes++;
			continue;
		}
		while (stop < end && *stop != '\n' && *stop != '\r')
			stop++;
		if (!add_bytes(s, bytes, (size_t)(stop - bytes)))
			return false;
		s->after_cr = false;
		bytes = stop;
		if (stop == end)
			break;
		s->after_cr = *stop == '\r';
		bytes++;
		if (!take_line(s))
			return false;
	}
	return true;
}

void
sse_restart(struct sse *s)
{
	s->line.len = s->data.len = 0;
	s->has_data = s->after_cr = false;
	memcpy(s->next_id, s->id, sizeof(s->next_id));
}

void
sse_free(struct sse *s)
{
	buf_free(&s->line);
	buf_free(&s->data);
}
