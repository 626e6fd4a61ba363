/* changes_test.c: tests the list of file changes that were not reported yet. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "agent/watch/changes.h"
#include "common/mem.h"

/* The changes in the list, as "create a, modify a". */
static const char *
shown(const struct changes *c)
{
	static char text[1024];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < c->count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s%s %s%s", i > 0 ? ", " : "",
		    CHANGE_NAMES[c->all[i].type], changes_path(c, i),
		    c->all[i].directory ? "/" : "");
	return text;
}

/* "Ca Mb": a was created, then b modified. */
static void
add_all(struct changes *c, const char *script)
{
	static const char LETTERS[] = "CMDFTA"; /* as enum change_type */

	for (; *script != '\0';
	     script += strcspn(script, " "), script += strspn(script, " "))
		changes_add(c,
		    (enum change_type)(strchr(LETTERS, script[0]) - LETTERS),
		    false, (char[]){ script[1], '\0' });
}

static void
the_same_again_is_one(void **state)
{
	static const struct {
		const char *in, *out;
	} CASES[] = {
		{ "Ma Ma Ma", "modify a" },
		{ "Ma Mb Ma", "modify a, modify b" },
		{ "Ca Ma Ma", "create a, modify a" },
		{ "Ma Aa Ma Aa", "modify a, attrib a" },
		{ "Ca Ca", "create a" },
		{ "Ca Ta", "create a" },
		{ "Ta Ca", "move_to a, create a" },
		{ "Ca Da Ca", "create a, delete a, create a" },
		{ "Ma Da Ca Ma", "modify a, delete a, create a, modify a" },
		{ "Fa Tb Fb Ta",
		    "move_from a, move_to b, move_from b, move_to a" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct changes c = { 0 };

		add_all(&c, CASES[i].in);
		assert_string_equal(shown(&c), CASES[i].out);
		assert_int_equal(c.dropped, 0);
		changes_free(&c);
	}
}

static void
a_directory_is_not_the_file_of_its_name(void **state)
{
	struct changes c = { 0 };

	(void)state;
	changes_add(&c, CHANGE_CREATE, false, "a");
	changes_add(&c, CHANGE_CREATE, true, "a");
	assert_string_equal(shown(&c), "create a, create a/");
	changes_free(&c);
}

static void
what_is_too_much_is_counted(void **state)
{
	struct changes c = { 0 };

	(void)state;
	for (int i = 0; i < CHANGES_MAX + 5; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		changes_add(&c, CHANGE_CREATE, false, name);
	}
	changes_add(&c, CHANGE_CREATE, false, "f7"); /* already in the list */
	assert_int_equal(c.count, CHANGES_MAX);
	assert_int_equal(c.dropped, 5);
	assert_string_equal(changes_path(&c, CHANGES_MAX - 1), "f999");
	changes_free(&c);
	assert_int_equal(c.count, 0);
}

static void
long_names_do_not_fill_the_memory(void **state)
{
	static char name[4096];
	struct changes c = { 0 };

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	for (int i = 0; i < CHANGES_MAX; i++) {
		snprintf(name, 8, "%07d", i);
		name[7] = 'x';
		changes_add(&c, CHANGE_CREATE, false, name);
	}
	assert_true(c.text.len <= CHANGES_TEXT_MAX);
	assert_true(c.count > 10);
	assert_int_equal(c.dropped, CHANGES_MAX - (int64_t)c.count);
	changes_free(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_again_is_one),
		cmocka_unit_test(a_directory_is_not_the_file_of_its_name),
		cmocka_unit_test(what_is_too_much_is_counted),
		cmocka_unit_test(long_names_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
