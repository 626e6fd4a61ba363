/* output_test.c: tests how the output of an execution is shown. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "domain/output.h"

/* An output that owns its bytes. */
struct owned {
	struct output o;
	struct buf log, times;
};

#define auto_owned __attribute__((cleanup(owned_free)))

static void
owned_free(struct owned *w)
{
	buf_free(&w->log);
	buf_free(&w->times);
}

static void
show(struct owned *w)
{
	w->o.log = w->log.data;
	w->o.log_len = w->log.len;
	w->o.times = w->times.data;
	w->o.times_len = w->times.len;
}

static void
add(struct owned *w, uint32_t ms, int stream, const char *text)
{
	uint32_t entry[2] = { ms,
		(uint32_t)strlen(text) * 2 + (stream == OUTPUT_STDERR) };

	buf_add(&w->log, text, strlen(text));
	buf_add(&w->times, (const char *)entry, sizeof(entry));
	show(w);
}

static void
assert_json(const struct output *o, int64_t offset, size_t max, int only,
    const char *wanted, int64_t wanted_next)
{
	int64_t next;
	auto_json json_t *got = output_json(o, offset, max, only, &next);
	auto_free char *text = json_text(got);

	assert_string_equal(text, wanted);
	assert_int_equal(next, wanted_next);
}

static void
output_is_shown_from_any_offset(void **state)
{
	auto_owned struct owned w = { 0 };

	(void)state;
	add(&w, 0, OUTPUT_STDOUT, "ab");
	add(&w, 5, OUTPUT_STDERR, "cde");
	add(&w, 9, OUTPUT_STDOUT, "f");
	assert_json(&w.o, 0, 100, -1,
	    "[{\"stream\":\"stdout\",\"data\":\"ab\"},{\"stream\":\"stderr\",\"data\":\"cde\"},"
	    "{\"stream\":\"stdout\",\"data\":\"f\"}]",
	    6);
	assert_json(&w.o, 3, 100, -1,
	    "[{\"stream\":\"stderr\",\"data\":\"de\"},{\"stream\":\"stdout\",\"data\":\"f\"}]",
	    6);
	assert_json(&w.o, 1, 2, -1,
	    "[{\"stream\":\"stdout\",\"data\":\"b\"},{\"stream\":\"stderr\",\"data\":\"c\"}]",
	    3);
	assert_json(&w.o, 0, 100, OUTPUT_STDERR,
	    "[{\"stream\":\"stderr\",\"data\":\"cde\"}]", 6);
	assert_json(&w.o, 6, 100, -1, "[]", 6);
	assert_json(&w.o, 600, 100, -1, "[]", 6);
	/* the first bytes are not kept */
	memmove(w.log.data, w.log.data + 3, 3);
	w.log.len = 3;
	w.o.first = 3;
	show(&w);
	assert_json(&w.o, 0, 100, -1,
	    "[{\"stream\":\"stderr\",\"data\":\"de\"},{\"stream\":\"stdout\",\"data\":\"f\"}]",
	    6);
}

static void
halves_of_a_character_are_joined(void **state)
{
	auto_owned struct owned w = { 0 };

	(void)state;
	add(&w, 0, OUTPUT_STDOUT, "a\xc3");
	add(&w, 5, OUTPUT_STDERR, "e\xe2\x82");
	add(&w, 9, OUTPUT_STDOUT, "\xbc");
	add(&w, 20, OUTPUT_STDOUT, "b");
	/* the other stream's never comes */
	assert_json(&w.o, 0, 100, -1,
	    "[{\"stream\":\"stdout\",\"data\":\"a\"},{\"stream\":\"stderr\",\"data\":\"e\"},"
	    "{\"stream\":\"stdout\",\"data\":\"\xc3\xbc"
	    "b\"},{\"stream\":\"stderr\",\"data\":\"\xef\xbf\xbd\xef\xbf\xbd\"}]",
	    7);
	assert_json(&w.o, 0, 100, OUTPUT_STDOUT,
	    "[{\"stream\":\"stdout\",\"data\":\"a\xc3\xbc"
	    "b\"}]",
	    7);
}

static void
output_that_goes_on_ends_with_a_whole_character(void **state)
{
	static const struct {
		int only;
		size_t held;
		const char *json;
	} CASES[] = {
		{ -1, 1, "[{\"stream\":\"stdout\",\"data\":\"a\"}]" },
		{ OUTPUT_STDOUT, 1,
		    "[{\"stream\":\"stdout\",\"data\":\"a\"}]" },
		{ OUTPUT_STDERR, 0, "[]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct output_list l = { .only = CASES[i].only };
		auto_json json_t *got = NULL;
		auto_free char *text = NULL;

		output_list_add(&l, OUTPUT_STDOUT, "a\xc3", 2);
		assert_int_equal(output_list_hold(&l), CASES[i].held);
		got = output_list_end(&l);
		text = json_text(got);
		assert_string_equal(text, CASES[i].json);
	}
}

static bool
add_line(void *ctx, const char *line, size_t len)
{
	buf_add(ctx, line, len);
	return true;
}

static void
assert_recording(const struct output *o, const char *wanted)
{
	const struct recording_head head = { .title = "make", .began = 7 };
	auto_buf struct buf out = { 0 };
	const char *end;

	output_recording(o, &head, add_line, &out);
	assert_true(str_starts(out.data,
	    "{\"version\":2,\"width\":100,\"height\":30,\"timestamp\":7,\"title\":\"make\""));
	end = strchr(out.data, '\n');
	assert_non_null(end);
	assert_string_equal(end + 1, wanted);
}

static void
a_recording_has_times_and_whole_characters(void **state)
{
	auto_owned struct owned w = { 0 };

	(void)state;
	assert_recording(&w.o, "");
	add(&w, 0, OUTPUT_STDOUT, "a\xc3");
	add(&w, 1500, OUTPUT_STDERR, "e\n");
	add(&w, 1200, OUTPUT_STDOUT, "\xbc\r\n"); /* time does not go back */
	assert_recording(&w.o,
	    "[0.0,\"o\",\"a\"]\n[1.5,\"o\",\"e\\r\\n\"]\n[1.5,\"o\",\"ü\\r\\n\"]\n");
	/* bytes without a time come last; half a character stays one */
	buf_add(&w.log, "z\xc3", 2);
	show(&w);
	assert_recording(&w.o,
	    "[0.0,\"o\",\"a\"]\n[1.5,\"o\",\"e\\r\\n\"]\n[1.5,\"o\",\"ü\\r\\n\"]\n"
	    "[1.5,\"o\",\"z\"]\n[1.5,\"o\",\"\xef\xbf\xbd\"]\n");
}

static void
any_times_are_valid(void **state)
{
	static const uint32_t WILD[] = { 1, UINT32_MAX, UINT32_MAX, 0, 0, 1,
		7 };
	auto_owned struct owned w = { .o.first = 5 };

	(void)state;
	buf_add(&w.log, "text", 4);
	buf_add(&w.times, (const char *)WILD, sizeof(WILD) - 2);
	show(&w);
	assert_json(&w.o, 0, 100, -1,
	    "[{\"stream\":\"stderr\",\"data\":\"text\"}]", 9);
}

static void
a_long_run_comes_in_pieces(void **state)
{
	auto_free char *text = xcalloc(1, 3 * OUTPUT_RUN_MAX + 1);
	auto_owned struct owned w = { 0 };
	struct output_at at = { 0 };
	struct output_run r;
	size_t sum = 0;

	(void)state;
	for (size_t i = 0; i < 3 * OUTPUT_RUN_MAX; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	add(&w, 7, OUTPUT_STDERR, text);
	while (output_next(&w.o, &at, &r)) {
		assert_true(
		    r.len > 0 && r.len <= OUTPUT_RUN_MAX && r.len % 3 == 0);
		assert_int_equal(r.offset, sum);
		assert_int_equal(r.stream, OUTPUT_STDERR);
		sum += r.len;
	}
	assert_int_equal(sum, 3 * OUTPUT_RUN_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_is_shown_from_any_offset),
		cmocka_unit_test(halves_of_a_character_are_joined),
		cmocka_unit_test(
		    output_that_goes_on_ends_with_a_whole_character),
		cmocka_unit_test(a_recording_has_times_and_whole_characters),
		cmocka_unit_test(any_times_are_valid),
		cmocka_unit_test(a_long_run_comes_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
