/* answers.c: parses the lines that a persistent shell prints for the wrapper. */
#include "agent/shell/answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"

/*
 * Keeps the gathered exports, without the `d` line at their end.  Exports that
 * are too long are dropped: part of them would be a broken script.
 */
static void
finish_exports(struct answers *a)
{
	struct buf old = a->exports;

	if (a->gathering == 0)
		return;
	a->exports = a->gathered;
	a->exports.len -= a->overflow ? a->exports.len : a->len + 1;
	if (a->exports.data != NULL)
		a->exports.data[a->exports.len] = '\0';
	a->gathered = old;
	a->gathering = 0;
}

static void
read_line(struct answers *a)
{
	int64_t seq;
	int status;

	a->line[a->len < sizeof(a->line) ? a->len : sizeof(a->line) - 1] = '\0';
	if (sscanf(a->line, "d %" SCNd64, &seq) == 1 &&
	    (a->gathering == 0 || seq == a->gathering)) {
		a->ready = seq;
		finish_exports(a);
	} else if (a->gathering != 0) {
		return; /* a line of the exports, even if it looks like `x` */
	} else if (sscanf(a->line, "x %" SCNd64 " %d", &seq, &status) == 2) {
		a->ended = seq;
		a->exit_code = status & 255;
	} else if (sscanf(a->line, "e %" SCNd64, &seq) == 1) {
		a->gathering = seq;
		a->gathered.len = 0;
		a->overflow = false;
	}
}

void
answers_read(struct answers *a, const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));
		size_t n = (size_t)((newline != NULL ? newline : end) - data);

		/* exports beyond the limit are read, but not kept */
		if (a->gathering != 0 && !a->overflow) {
			size_t all = n + (newline != NULL);

			a->overflow =
			    a->gathered.len + all > ANSWERS_EXPORTS_MAX;
			if (!a->overflow)
				buf_add(&a->gathered, data, all);
		}
		if (a->len < sizeof(a->line))
			memcpy(a->line + a->len, data,
			    n < sizeof(a->line) - a->len
				? n
				: sizeof(a->line) - a->len);
		a->len += n;
		data += n;
		if (newline != NULL) {
			read_line(a);
			a->len = 0;
			data++;
		}
	}
}

void
answers_reset(struct answers *a)
{
	buf_free(&a->exports);
	buf_free(&a->gathered);
	*a = (struct answers){ 0 };
}
