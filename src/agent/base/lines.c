/* lines.c: cuts a stream of bytes into lines. */
#include "agent/base/lines.h"

#include <string.h>

#include "common/clock.h"
#include "common/utf8.h"

/* Emits the first `len` pending bytes. */
static void
emit(struct lines *l, size_t len)
{
	if (len == 0)
		return;
	l->emit(l->ctx, l->pending.data, len);
	l->pending.len -= len;
	memmove(l->pending.data, l->pending.data + len, l->pending.len);
}

void
lines_add(struct lines *l, const char *data, size_t len)
{
	if (l->at_once) {
		l->emit(l->ctx, data, len);
		return;
	}
	while (len > 0) {
		size_t max = LINES_MAX - l->pending.len;
		size_t n = len < max ? len : max;
		const char *nl = memchr(data, '\n', n);

		if (nl != NULL)
			n = (size_t)(nl - data) + 1;
		buf_add(&l->pending, data, n);
		data += n;
		len -= n;
		if (nl != NULL)
			emit(l, l->pending.len);
		else if (l->pending.len >= LINES_MAX)
			emit(l, utf8_whole(l->pending.data, l->pending.len));
		if (l->pending.len == 0)
			l->due_ms = 0;
	}
	l->last_due_ms = clock_ms() + LINES_WAIT_MS;
	if (l->pending.len > 0 && l->due_ms == 0)
		l->due_ms = l->last_due_ms;
	if (l->due_ms > 0 && clock_left_ms(l->due_ms) == 0)
		lines_flush(l);
}

int
lines_left_ms(const struct lines *l, size_t count)
{
	int left_ms = -1;

	for (; count > 0; l++, count--) {
		int ms = l->due_ms > 0 ? clock_left_ms(l->due_ms) : -1;

		if (ms >= 0 && (left_ms < 0 || ms < left_ms))
			left_ms = ms;
	}
	return left_ms;
}

void
lines_flush(struct lines *l)
{
	size_t whole = l->pending.len > 0
	    ? utf8_whole(l->pending.data, l->pending.len)
	    : 0;

	/* the rest of a character that has just begun gets its own time */
	if (whole < l->pending.len && clock_left_ms(l->last_due_ms) > 0) {
		emit(l, whole);
		l->due_ms = l->last_due_ms;
		return;
	}
	emit(l, l->pending.len);
	l->due_ms = 0;
}

void
lines_end(struct lines *l)
{
	emit(l, l->pending.len);
	buf_free(&l->pending);
	l->due_ms = 0;
}
