/* entity_test.c: tests the tags, dates, conditions and ranges of files. */
#include "../unit.h"

#include <string.h>

#include "agent/files/entity.h"
#include "common/mem.h"

#define TAG "\"7-64-3b9aca00.5\""
#define DATE "Sun, 09 Sep 2001 01:46:40 GMT"
#define BEFORE "Sun, 09 Sep 2001 01:46:39 GMT"
#define AFTER "Mon, 10 Sep 2001 01:46:40 GMT"

static const struct entity FILE_OF_100 = { TAG, DATE, 1000000000, 100 };

static void
a_file_has_a_tag_and_a_date(void **state)
{
	struct stat st = { .st_ino = 7, .st_size = 100 };
	struct entity en;

	(void)state;
	st.st_mtim = (struct timespec){ 1000000000, 5 };
	entity_of(&st, &en);
	assert_string_equal(en.tag, TAG);
	assert_string_equal(en.date, DATE);
	assert_int_equal(en.size, 100);
	st.st_mtim.tv_nsec++;
	entity_of(&st, &en);
	assert_string_not_equal(en.tag, TAG);
}

static void
conditions_decide(void **state)
{
	static const struct {
		struct entity_conditions c; /* match, none, since, not since */
		enum entity_verdict read, write, none;
	} CASES[] = {
		{ { "", "", "", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "*", "", "", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_FAILED },
		{ { TAG, "", "", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_FAILED },
		{ { "\"x\" , " TAG, "", "", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_FAILED },
		{ { "\"x\"", "", "", "" }, ENTITY_FAILED, ENTITY_FAILED,
		    ENTITY_FAILED },
		{ { "W/" TAG, "", "", "" }, ENTITY_FAILED, ENTITY_FAILED,
		    ENTITY_FAILED },
		{ { "nonsense", "", "", "" }, ENTITY_FAILED, ENTITY_FAILED,
		    ENTITY_FAILED },
		{ { "\"unfinished", "", "", "" }, ENTITY_FAILED, ENTITY_FAILED,
		    ENTITY_FAILED },
		{ { "", "*", "", "" }, ENTITY_NOT_MODIFIED, ENTITY_FAILED,
		    ENTITY_GO_ON },
		{ { "", "W/" TAG, "", "" }, ENTITY_NOT_MODIFIED, ENTITY_FAILED,
		    ENTITY_GO_ON },
		/* the tag outweighs the date */
		{ { "", "\"x\"", DATE, "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", DATE, "" }, ENTITY_NOT_MODIFIED, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", BEFORE, "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", AFTER, "" }, ENTITY_NOT_MODIFIED, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", "tomorrow", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", DATE " or so", "" }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { "", "", "", BEFORE }, ENTITY_FAILED, ENTITY_FAILED,
		    ENTITY_GO_ON },
		{ { "", "", "", DATE }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_GO_ON },
		{ { TAG, "", "", BEFORE }, ENTITY_GO_ON, ENTITY_GO_ON,
		    ENTITY_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct entity_conditions *c = &CASES[i].c;

		assert_int_equal(entity_check(&FILE_OF_100, c, true),
		    CASES[i].read);
		assert_int_equal(entity_check(&FILE_OF_100, c, false),
		    CASES[i].write);
		assert_int_equal(entity_check(NULL, c, false), CASES[i].none);
	}
}

static void
a_range_is_a_part_of_the_file(void **state)
{
	static const struct {
		const char *range, *if_range;
		enum entity_part part;
		int64_t from, len;
	} CASES[] = {
		{ "", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=0-0", "", ENTITY_PART, 0, 1 },
		{ "bytes=0-", "", ENTITY_PART, 0, 100 },
		{ "bytes=99-", "", ENTITY_PART, 99, 1 },
		{ "bytes=10-19", "", ENTITY_PART, 10, 10 },
		{ "bytes=10-1000", "", ENTITY_PART, 10, 90 },
		{ "bytes=-1", "", ENTITY_PART, 99, 1 },
		{ "bytes=-100", "", ENTITY_PART, 0, 100 },
		{ "bytes=-1000", "", ENTITY_PART, 0, 100 },
		{ "bytes=100-", "", ENTITY_NO_PART, 0, 100 },
		{ "bytes=100-200", "", ENTITY_NO_PART, 0, 100 },
		{ "bytes=-0", "", ENTITY_NO_PART, 0, 100 },
		{ "bytes=2-1", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=0-1,3-4", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=-", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=--1", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=1", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=0x1-", "", ENTITY_WHOLE, 0, 100 },
		{ "items=0-1", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=999999999999999999-", "", ENTITY_NO_PART, 0, 100 },
		{ "bytes=9223372036854775808-", "", ENTITY_WHOLE, 0, 100 },
		{ "bytes=99999999999999999999999999-", "", ENTITY_WHOLE, 0,
		    100 },
		{ "bytes=0-1", TAG, ENTITY_PART, 0, 2 },
		{ "bytes=0-1", DATE, ENTITY_PART, 0, 2 },
		{ "bytes=0-1", "\"x\"", ENTITY_WHOLE, 0, 100 },
		{ "bytes=0-1", "W/" TAG, ENTITY_WHOLE, 0, 100 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		int64_t from, len;

		assert_int_equal(entity_range(&FILE_OF_100, CASES[i].range,
				     CASES[i].if_range, &from, &len),
		    CASES[i].part);
		assert_int_equal(from, CASES[i].from);
		assert_int_equal(len, CASES[i].len);
	}
}

static void
an_empty_file_has_no_parts(void **state)
{
	const struct entity empty = { TAG, DATE, 1000000000, 0 };
	int64_t from, len;

	(void)state;
	assert_int_equal(entity_range(&empty, "bytes=0-", "", &from, &len),
	    ENTITY_NO_PART);
	assert_int_equal(entity_range(&empty, "bytes=-1", "", &from, &len),
	    ENTITY_NO_PART);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_a_tag_and_a_date),
		cmocka_unit_test(conditions_decide),
		cmocka_unit_test(a_range_is_a_part_of_the_file),
		cmocka_unit_test(an_empty_file_has_no_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
