/* lines.c: a stream of bytes as events of whole lines. */
#include "agent/lines.h"

#include <string.h>

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

static void
flush_long(struct lines *l)
{
	if (l->pending.len >= LINES_MAX)
		emit(l, utf8_whole(l->pending.data, l->pending.len));
}

void
lines_add(struct lines *l, const char *data, size_t len)
{
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
		else
			flush_long(l);
	}
}

void
lines_flush(struct lines *l)
{
	if (l->pending.len > 0)
		emit(l, utf8_whole(l->pending.data, l->pending.len));
}

void
lines_end(struct lines *l)
{
	emit(l, l->pending.len);
	buf_free(&l->pending);
}
