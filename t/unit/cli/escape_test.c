/*
 * escape_test.c: tests the escapes typed in a terminal, which are for the
 * client and not for the session.
 */
#include "t/unit/unit.h"

#include <string.h>

#include "cli/escape.h"
#include "common/mem.h"

/* Types in pieces; got: the session's bytes, and 'D', 'S', 'H' for actions. */
static void
type(const char *text, size_t piece, struct buf *got)
{
	struct escape s = { .fresh = true };
	size_t len = strlen(text);

	buf_str(got, "");
	for (size_t at = 0; at < len;) {
		size_t used, n = len - at < piece ? len - at : piece;
		enum escape_action w =
		    escape_take(&s, text + at, n, got, &used);

		if (w != ESCAPE_NONE)
			buf_fmt(got, "<%c>", " DSH"[w]);
		at += used;
	}
}

static void
a_tilde_counts_only_at_the_beginning_of_a_line(void **state)
{
	static const struct {
		const char *typed, *want;
	} CASES[] = {
		{ "ls\r", "ls\r" },
		{ "~.", "<D>" },
		{ "ls\r~.", "ls\r<D>" },
		{ "ls\n~.", "ls\n<D>" },
		{ "a~.", "a~." },
		{ "~~.", "~." },
		{ "~~~.", "~~." },
		{ "~x", "~x" },
		{ "~/file\r", "~/file\r" },
		{ "~\x1als", "<S>ls" },
		{ "~?~.", "<H><D>" },
		{ "~", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (size_t piece = 1; piece < 8; piece++) {
			auto_buf struct buf got = { 0 };

			type(CASES[i].typed, piece, &got);
			assert_string_equal(got.data, CASES[i].want);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_tilde_counts_only_at_the_beginning_of_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
