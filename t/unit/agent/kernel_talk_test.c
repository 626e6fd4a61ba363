/* kernel_talk_test.c: tests reading a code kernel's messages in any pieces. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/code/kernel_talk.h"
#include "common/mem.h"

static void
begin(void *ctx)
{
	buf_str(ctx, "<");
}

static void
result(void *ctx, const char *piece, size_t len, bool last)
{
	buf_add(ctx, piece, len);
	buf_str(ctx, last ? ">" : "");
}

struct say {
	const char *in;
	const char *results; /* each in <> */
	bool over;
	enum kernel_word word;
	const char *text;
};

static const struct say SAYS[] = {
	{ "done 7 {}\n", "", true, KERNEL_WORD_DONE, "{}" },
	{ "error 7 {\"a b\":1}\n", "", true, KERNEL_WORD_ERROR, "{\"a b\":1}" },
	{ "result 7 {\"x\":\"a b\"}\nresult 7 {}\ndone 7 {}\n",
	    "<{\"x\":\"a b\"}><{}>", true, KERNEL_WORD_DONE, "{}" },
	{ "done 6 {}\nresult 8 {}\nresult 7 1\n", "<1>", false,
	    KERNEL_WORD_NONE, "" },
	{ "\n\n \nnonsense\nwords of no kind 7\ndone -7 {}\ndone  7 {}\n", "",
	    false, KERNEL_WORD_NONE, "" },
	{ "done7 7 {}\ndone 7\ndone 7 \n", "", true, KERNEL_WORD_DONE, "" },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa done 7 {}\n"
	  "ready 7 {}\n",
	    "", true, KERNEL_WORD_READY, "{}" },
	{ "result 7 {\"cut", "<{\"cut>", false, KERNEL_WORD_NONE, NULL },
};

/* Feeds the text in pieces of `step` bytes. */
static void
say(const struct say *s, size_t step)
{
	auto_buf struct buf out = { 0 };
	struct kernel_talk t = { .seq = 7,
		.begin = begin,
		.result = result,
		.ctx = &out };
	size_t len = strlen(s->in);
	bool over = false;

	buf_str(&out, "");
	for (size_t at = 0; at < len && !over; at += step)
		over = kernel_talk_read(&t, s->in + at,
		    len - at < step ? len - at : step);
	assert_int_equal(over, s->over);
	if (over) {
		assert_int_equal(t.word, s->word);
		buf_add(&t.text, "", 1);
		assert_string_equal(t.text.data, s->text);
	}
	kernel_talk_close(&t);
	assert_string_equal(out.data, s->results);
}

static void
it_is_heard_in_any_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SAYS); i++)
		for (size_t step = 1; step < 40; step++)
			say(&SAYS[i], step);
}

static void
an_end_that_is_too_large_is_an_end_without_words(void **state)
{
	struct kernel_talk t = { .begin = begin, .result = result };
	char piece[4096];

	(void)state;
	memset(piece, 'x', sizeof(piece));
	assert_false(kernel_talk_read(&t, "error 0 ", 8));
	for (size_t n = 0; n <= 2 * KERNEL_TALK_END_MAX; n += sizeof(piece))
		assert_false(kernel_talk_read(&t, piece, sizeof(piece)));
	assert_true(kernel_talk_read(&t, "\n", 1));
	assert_int_equal(t.word, KERNEL_WORD_ERROR);
	assert_int_equal(t.text.len, 0);
	assert_true(kernel_talk_read(&t, "error 0 {}\n", 11));
	assert_int_equal(t.text.len, 2);
	kernel_talk_close(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_heard_in_any_pieces),
		cmocka_unit_test(
		    an_end_that_is_too_large_is_an_end_without_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
