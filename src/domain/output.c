/* output.c: shows the output of an execution, at once or with its times. */
#include "domain/output.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

enum {
	ENTRY_BYTES = 8,    /* two numbers of 32 bits */
	ENTRIES_MAX = 4096, /* of a list: each costs memory, however short */
	WIDTH = 100,
	HEIGHT = 30
};

int64_t
output_end(const struct output *o)
{
	return o->first + (int64_t)o->log_len;
}

/* Entry number `i`; false after the last. */
static bool
read_entry(const struct output *o, size_t i, int64_t *ms, int64_t *len,
    int *stream)
{
	uint32_t numbers[2];

	if ((i + 1) * ENTRY_BYTES > o->times_len)
		return false;
	memcpy(numbers, o->times + i * ENTRY_BYTES, ENTRY_BYTES);
	*ms = numbers[0];
	*len = numbers[1] / 2;
	*stream = numbers[1] & 1 ? OUTPUT_STDERR : OUTPUT_STDOUT;
	return true;
}

/* Reads the next entry into *at.  Bytes without a time came at the end. */
static void
read_run(const struct output *o, struct output_at *at)
{
	int64_t ms = at->ms;

	if (read_entry(o, at->entry, &ms, &at->left, &at->stream)) {
		at->entry++;
	} else {
		at->left = output_end(o) - at->offset;
		at->stream = OUTPUT_STDOUT;
	}
	at->ms = ms > at->ms ? ms : at->ms; /* time does not go back */
}

/* The length of a run of which `len` bytes are left. */
static size_t
run_length(const char *data, int64_t len)
{
	size_t whole;

	if (len <= OUTPUT_RUN_MAX)
		return (size_t)len;
	whole = utf8_whole(data, OUTPUT_RUN_MAX);
	return whole > 0 ? whole : OUTPUT_RUN_MAX;
}

bool
output_next(const struct output *o, struct output_at *at,
    struct output_run *out)
{
	const int64_t end = output_end(o);

	while (at->offset < end) {
		int64_t skip;

		if (at->left == 0)
			read_run(o, at);
		if (at->left > end - at->offset)
			at->left = end - at->offset;
		skip = o->first - at->offset;
		if (skip > 0) { /* not kept */
			skip = skip < at->left ? skip : at->left;
			at->offset += skip;
			at->left -= skip;
		}
		if (at->left == 0)
			continue;
		*out = (struct output_run){ .data = o->log +
			    (at->offset - o->first),
			.offset = at->offset,
			.ms = at->ms,
			.stream = at->stream };
		out->len = run_length(out->data, at->left);
		at->offset += (int64_t)out->len;
		at->left -= (int64_t)out->len;
		return true;
	}
	return false;
}

/* ---- lists */

static void
flush_text(struct output_list *l)
{
	if (l->list == NULL)
		l->list = json_array();
	if (l->text.len > 0)
		json_array_append_new(l->list,
		    json_pack("{s:s, s:o}", "stream",
			l->stream == OUTPUT_STDOUT ? "stdout" : "stderr",
			"data", json_bytes(l->text.data, l->text.len)));
	l->text.len = 0;
}

void
output_list_add(struct output_list *l, int stream, const char *data, size_t len)
{
	l->passed = l->only >= 0 && l->only != stream;
	if (l->passed)
		return;
	if (stream != l->stream)
		flush_text(l);
	l->stream = stream;
	utf8_join(&l->tail[stream], data, len, &l->text);
}

size_t
output_list_hold(struct output_list *l)
{
	size_t held = l->passed ? 0 : l->tail[l->stream].len;

	if (held > 0)
		l->tail[l->stream].len = 0;
	return held;
}

json_t *
output_list_end(struct output_list *l)
{
	json_t *out;

	/* the stream of the last runs first */
	for (int i = 0; i < 2; i++, l->stream = 1 - l->stream) {
		const struct utf8_tail *rest = &l->tail[l->stream];

		buf_add(&l->text, rest->bytes, rest->len);
		flush_text(l);
	}
	out = l->list;
	buf_free(&l->text);
	*l = (struct output_list){ 0 };
	return out;
}

json_t *
output_json(const struct output *o, int64_t offset, size_t max, int only,
    int64_t *next)
{
	struct output_at at = { 0 };
	struct output_run r;
	struct output_list list = { .only = only };
	size_t sum = 0;

	*next = offset < output_end(o) ? offset : output_end(o);
	while (sum < max && json_array_size(list.list) < ENTRIES_MAX &&
	    output_next(o, &at, &r)) {
		size_t skip, len;

		if (r.offset + (int64_t)r.len <= offset)
			continue;
		skip = offset > r.offset ? (size_t)(offset - r.offset) : 0;
		len = r.len - skip;
		if (len > max - sum)
			len = utf8_whole(r.data + skip, max - sum);
		output_list_add(&list, r.stream, r.data + skip, len);
		sum += len;
		*next = r.offset + (int64_t)(skip + len);
		if (len < r.len - skip)
			break;
	}
	return output_list_end(&list);
}

/* ---- recording */

/* Moves the text of a run to *line, with the line ends of a terminal. */
static void
add_text(struct buf *line, const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end) {
		const char *feed = memchr(data, '\n', (size_t)(end - data));
		size_t n = (size_t)((feed != NULL ? feed : end) - data);

		buf_add(line, data, n);
		if (feed == NULL)
			return;
		if (line->len == 0 || line->data[line->len - 1] != '\r')
			buf_add(line, "\r", 1);
		buf_add(line, "\n", 1);
		data = feed + 1;
	}
}

static bool
pass_line(json_t *line, int flags, output_line_fn *use, void *ctx)
{
	auto_json json_t *owned = line;
	auto_free char *text = json_dumps(owned, JSON_COMPACT | flags);
	auto_free char *ended = xasprintf("%s\n", text);

	return use(ctx, ended, strlen(ended));
}

static bool
pass_event(int64_t ms, const char *data, size_t len, output_line_fn *use,
    void *ctx)
{
	return pass_line(json_pack("[f, s, o]", (double)ms / 1000, "o",
			     json_bytes(data, len)),
	    JSON_REAL_PRECISION(9), use, ctx);
}

static bool
pass_head(const struct recording_head *h, output_line_fn *use, void *ctx)
{
	return pass_line(json_pack("{s:i, s:i, s:i, s:I, s:o, s:{s:s}}",
			     "version", 2, "width", WIDTH, "height", HEIGHT,
			     "timestamp", (json_int_t)h->began, "title",
			     json_lossy(h->title), "env", "TERM",
			     "xterm-256color"),
	    0, use, ctx);
}

void
output_recording(const struct output *o, const struct recording_head *h,
    output_line_fn *use, void *ctx)
{
	struct output_at at = { 0 };
	struct output_run r;
	struct buf rest[2] = { 0 }; /* of each stream: half a character */
	bool go_on = pass_head(h, use, ctx);

	while (go_on && output_next(o, &at, &r)) {
		auto_buf struct buf line = rest[r.stream];
		size_t cut;

		rest[r.stream] = (struct buf){ 0 };
		add_text(&line, r.data, r.len);
		cut = line.len - utf8_whole(line.data, line.len);
		buf_add(&rest[r.stream], line.data + line.len - cut, cut);
		if (line.len > cut)
			go_on = pass_event(r.ms, line.data, line.len - cut, use,
			    ctx);
	}
	for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
		if (go_on && rest[i].len > 0)
			go_on = pass_event(at.ms, rest[i].data, rest[i].len,
			    use, ctx);
		buf_free(&rest[i]);
	}
}
