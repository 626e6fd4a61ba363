/* output.c: fuzzes the times of an execution's output, which a tenant can write. */
#include <string.h>

#include "common/mem.h"
#include "domain/output.h"
#include "fuzz.h"

enum { TEXT_MAX = 64 };

static bool
count_line(void *ctx, const char *line, size_t len)
{
	size_t *lines = ctx;

	PROMISE(line[len - 1] == '\n');
	(*lines)++;
	return true;
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	static const struct recording_head HEAD = { .title = "fuzz" };
	const size_t text = len < TEXT_MAX ? len : TEXT_MAX;
	const struct output o = { .log = (const char *)data,
		.log_len = text,
		.times = (const char *)data + text,
		.times_len = len - text,
		.first = len > 0 ? data[0] : 0 };
	size_t lines = 0;
	struct output_at at = { 0 };
	struct output_run r;
	size_t sum = 0;
	int64_t before = 0, next;
	json_t *shown;

	while (output_next(&o, &at, &r)) {
		PROMISE(r.len > 0 && r.data == o.log + sum);
		PROMISE(r.ms >= before);
		before = r.ms;
		sum += r.len;
	}
	PROMISE(sum == o.log_len); /* each byte once, in order */
	shown = output_json(&o, 0, TEXT_MAX, -1, &next);
	PROMISE(next == output_end(&o));
	json_decref(shown);
	output_recording(&o, &HEAD, count_line, &lines);
	PROMISE(lines > 0);
	return 0;
}
