/* events.c: an event stream, taken apart again. */
#include "agent/ws/events.h"

#include <string.h>

/* What follows the colon of a field, if the line is that field. */
static const char *
field(const struct buf *line, const char *name)
{
	size_t len = strlen(name);
	const char *v;

	if (line->len <= len || memcmp(line->data, name, len) != 0 ||
	    line->data[len] != ':')
		return NULL;
	v = line->data + len + 1;
	return *v == ' ' ? v + 1 : v;
}

static int
dispatch(struct ws_events *s)
{
	int rc = 0;

	if (s->any)
		rc = s->event(s->ctx, s->name.len > 0 ? s->name.data : NULL,
		    s->data.data, s->data.len);
	s->any = false;
	s->data.len = s->name.len = 0;
	return rc;
}

static int
take_line(struct ws_events *s)
{
	const char *end = s->line.data + s->line.len, *v;

	if (s->line.len == 0)
		return dispatch(s);
	if (s->line.data[0] == ':')
		return s->comment(s->ctx);
	v = field(&s->line, "data");
	if (v != NULL) {
		if (s->any)
			buf_str(&s->data, "\n");
		buf_add(&s->data, v, (size_t)(end - v));
		s->any = true;
	}
	v = field(&s->line, "event");
	if (v != NULL) {
		s->name.len = 0;
		buf_add(&s->name, v, (size_t)(end - v));
	}
	return 0;
}

int
ws_events_feed(struct ws_events *s, const char *data, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl != NULL ? (size_t)(nl - data) : len;

		buf_add(&s->line, data, n);
		if (nl == NULL)
			return 0;
		if (take_line(s) < 0)
			return -1;
		s->line.len = 0;
		data += n + 1;
		len -= n + 1;
	}
	return 0;
}

void
ws_events_free(struct ws_events *s)
{
	buf_free(&s->line);
	buf_free(&s->data);
	buf_free(&s->name);
}
