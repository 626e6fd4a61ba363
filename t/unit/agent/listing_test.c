/* listing_test.c: tests a directory's entries as JSON. */
#include "../unit.h"

#include <string.h>

#include "agent/api/listing.h"
#include "common/json.h"
#include "common/mem.h"

static json_t *
entry(const char *top, const char *path, const struct stat *st)
{
	auto_buf struct buf text = { 0 };
	json_t *v;

	listing_entry(&text, top, path, st);
	v = json_loadb(text.data, text.len, 0, NULL);
	assert_non_null(v);
	return v;
}

static void
an_entry_is_described(void **state)
{
	struct stat st = { .st_mode = S_IFREG | 0640,
		.st_size = 5000000000,
		.st_mtim = { 1700000000, 123999999 } };
	auto_json json_t *v = entry("/w/a", "b/c.txt", &st);
	auto_json json_t *want =
	    json_pack("{s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:{s:b, s:b, s:b}}",
		"name", "c.txt", "absolutePath", "/w/a/b/c.txt", "relativePath",
		"b/c.txt", "type", "file", "size", (json_int_t)5000000000,
		"modifiedAt", "2023-11-14T22:13:20.123Z", "mode", "rw-r-----",
		"permissions", "readable", 1, "writable", 1, "executable", 0);

	(void)state;
	assert_true(json_equal(v, want));
}

static void
modes_and_types_are_those_of_ls(void **state)
{
	static const struct {
		mode_t mode;
		const char *text, *type;
	} CASES[] = {
		{ S_IFREG | 0755, "rwxr-xr-x", "file" },
		{ S_IFREG | 0, "---------", "file" },
		{ S_IFREG | 04755, "rwsr-xr-x", "file" },
		{ S_IFREG | 06644, "rwSr-Sr--", "file" },
		{ S_IFDIR | 01777, "rwxrwxrwt", "directory" },
		{ S_IFDIR | 01776, "rwxrwxrwT", "directory" },
		{ S_IFLNK | 0777, "rwxrwxrwx", "symlink" },
		{ S_IFIFO | 0600, "rw-------", "other" },
		{ S_IFSOCK | 0600, "rw-------", "other" },
		{ S_IFCHR | 0600, "rw-------", "other" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct stat st = { .st_mode = CASES[i].mode };
		auto_json json_t *v = entry("/", "x", &st);

		assert_string_equal(json_str(v, "mode"), CASES[i].text);
		assert_string_equal(json_str(v, "type"), CASES[i].type);
		assert_string_equal(json_str(v, "absolutePath"), "/x");
	}
}

static void
hostile_names_are_json_all_the_same(void **state)
{
	static const struct {
		const char *path, *name;
	} CASES[] = {
		{ "a\nb", "a\nb" },
		{ "d/\"q\\", "\"q\\" },
		{ "\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\x01\x7f", "\x01\x7f" },
		{ "d\xc3/\xc3\xa9", "\xc3\xa9" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct stat st = { 0 };
		auto_json json_t *v = entry("/w/", CASES[i].path, &st);

		assert_string_equal(json_str(v, "name"), CASES[i].name);
	}
}

static void
times_beyond_the_calendar_are_its_beginning(void **state)
{
	static const time_t TIMES[] = { 0, INT64_MAX, INT64_MIN, 568971820800,
		-99999999999 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(TIMES); i++) {
		struct stat st = { .st_mtim = { TIMES[i], 0 } };
		auto_json json_t *v = entry("/", "x", &st);

		assert_string_equal(json_str(v, "modifiedAt"),
		    "1970-01-01T00:00:00.000Z");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_described),
		cmocka_unit_test(modes_and_types_are_those_of_ls),
		cmocka_unit_test(hostile_names_are_json_all_the_same),
		cmocka_unit_test(times_beyond_the_calendar_are_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
