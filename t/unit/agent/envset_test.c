/* envset_test.c: tests the session's environment variables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "agent/shell/envset.h"
#include "common/mem.h"

static void
merge(const char *text)
{
	auto_json json_t *env = NULL;
	struct err e = { 0 };

	assert_int_equal(json_parse(text, strlen(text), &env, &e), 0);
	assert_int_equal(envset_check(env, "env", &e), 0);
	assert_int_equal(envset_merge(env, false, &e), 0);
}

static const char *
value_in(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

static void
a_shell_is_told_what_has_changed_since(void **state)
{
	auto_buf struct buf none = { 0 };
	auto_buf struct buf some = { 0 };
	auto_free char **envp = NULL;
	int64_t seq, later;

	(void)state;
	envset_open(&(struct envset_session){ .id = "abcdefghij0123456789",
	    .name = "",
	    .user = "ann" });
	merge("{\"A\":\"1\",\"B\":\"2\",\"LANG\":\"de\",\"HOME\":null}");
	envp = envset_envp(&seq);
	assert_string_equal(value_in(envp, "A"), "1");
	assert_string_equal(value_in(envp, "LANG"), "de");
	assert_string_equal(value_in(envp, "USER"), "ann");
	assert_string_equal(value_in(envp, "SANDLEASE_SESSION_ID"),
	    "abcdefghij0123456789");
	assert_null(value_in(envp, "HOME"));
	assert_null(value_in(envp, "SANDLEASE_SESSION_NAME"));
	assert_null(value_in(envp, "OMP_NUM_THREADS"));
	assert_int_equal(envset_script(seq, &none), seq);
	assert_int_equal(none.len, 0);
	merge("{\"B\":null,\"C\":\"it's\"}");
	later = envset_script(seq, &some);
	assert_true(later > seq);
	assert_string_equal(some.data,
	    "\\builtin unset -v B\n\\builtin export C='it'\\''s'\n");
}

static void
what_no_environment_can_hold_is_refused(void **state)
{
	static const char *const BAD[] = { "{\"\":\"x\"}", "{\"1a\":\"x\"}",
		"{\"a-b\":\"x\"}", "{\"a=b\":\"x\"}", "{\"a\":1}", "{\"a\":[]}",
		"{\"a\":\"x\\u0000y\"}", "[]" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		auto_json json_t *env = NULL;
		struct err e = { 0 };

		assert_int_equal(json_parse(BAD[i], strlen(BAD[i]), &env, &e),
		    0);
		assert_int_equal(envset_check(env, "env", &e), -1);
		assert_string_equal(e.field, "env");
	}
}

static void
there_is_an_end_to_it(void **state)
{
	auto_json json_t *env = json_object();
	auto_free char *large = xcalloc(1, ENV_VALUE_MAX + 2);
	struct err e = { 0 };

	(void)state;
	memset(large, 'x', ENV_VALUE_MAX + 1);
	json_object_set_new(env, "L", json_string(large));
	assert_int_equal(envset_check(env, "env", &e), -1);
	large[ENV_VALUE_MAX] = '\0';
	for (int i = 0; i < 9; i++) {
		char name[8] = { 'V', (char)('0' + i) };

		json_object_set_new(env, name, json_string(large));
	}
	json_object_del(env, "L");
	assert_int_equal(envset_check(env, "env", &e), -1);
	assert_int_equal(envset_merge(env, false, &e), -1);
}

static void
a_change_that_is_refused_changes_nothing(void **state)
{
	auto_json json_t *large = json_object(), *again = json_object();
	auto_free char *text = xcalloc(1, ENV_VALUE_MAX + 1);
	auto_buf struct buf all = { 0 }, told = { 0 };
	auto_free char **envp = NULL;
	struct err e = { 0 };
	int64_t seq;

	(void)state;
	memset(text, 'x', ENV_VALUE_MAX);
	for (int i = 0; i < 5; i++) {
		char name[8] = { 'V', (char)('0' + i) };

		json_object_set_new(large, name, json_string(text));
	}
	assert_int_equal(envset_merge(large, false, &e), 0);
	/* the old value does not count in addition to the new one */
	text[0] = 'y';
	json_object_set_new(again, "V0", json_string(text));
	json_object_set_new(again, "V1", json_string(text));
	assert_int_equal(envset_merge(again, false, &e), 0);
	seq = envset_script(0, &all);

	json_object_clear(again);
	json_object_set_new(again, "SMALL", json_string("1"));
	json_object_set_new(again, "V5", json_string(text));
	assert_int_equal(envset_merge(again, false, &e), -1);
	assert_int_equal(envset_script(seq, &told), seq);
	assert_int_equal(told.len, 0);
	envp = envset_envp(&seq);
	assert_null(value_in(envp, "SMALL"));
	assert_null(value_in(envp, "V5"));

	/* the same change fits when it also removes V0, in any order */
	json_object_set_new(again, "V0", json_null());
	assert_int_equal(envset_merge(again, false, &e), 0);
	json_object_clear(again);
	assert_int_equal(envset_merge(again, true, &e), 0);
}

static void
what_the_whole_lacks_is_unset(void **state)
{
	auto_json json_t *env = json_pack("{s:s}", "W2", "2");
	auto_buf struct buf all = { 0 }, told = { 0 };
	struct err e = { 0 };
	int64_t seq;

	(void)state;
	merge("{\"W1\": \"1\", \"W2\": \"2\"}");
	seq = envset_script(0, &all);
	assert_int_equal(envset_merge(env, true, &e), 0);
	envset_script(seq, &told);
	assert_non_null(strstr(told.data, "unset -v W1\n"));
	assert_non_null(strstr(told.data, "export W2='2'\n"));
}

static void
names_come_and_go_for_ever(void **state)
{
	struct err e = { 0 };

	(void)state;
	for (int i = 0; i < 2 * ENV_COUNT_MAX; i++) {
		auto_json json_t *on = json_object(), *off = json_object();
		char name[16];

		snprintf(name, sizeof(name), "N%d", i);
		json_object_set_new(on, name, json_string("x"));
		json_object_set_new(off, name, json_null());
		assert_int_equal(envset_merge(on, false, &e), 0);
		assert_int_equal(envset_merge(off, false, &e), 0);
	}
}

static void
a_shell_of_its_own_may_have_more(void **state)
{
	auto_json json_t *more = json_pack("{s:s, s:s, s:n, s:s}", "A", "mine",
	    "NEW", "n", "USER", "HOME", "/h");
	auto_free char **envp = NULL;
	size_t of_a = 0;
	int64_t seq;

	(void)state;
	merge(
	    "{\"A\":\"theirs\",\"MS\":\"1500\",\"WORD\":\"x\",\"BIG\":\"99\"}");
	envp = envset_envp_with(more, &seq);
	assert_string_equal(value_in(envp, "A"), "mine");
	assert_string_equal(value_in(envp, "NEW"), "n");
	assert_string_equal(value_in(envp, "HOME"), "/h");
	assert_string_equal(value_in(envp, "USER"), "ann");
	for (size_t i = 0; envp[i] != NULL; i++)
		of_a += strncmp(envp[i], "A=", 2) == 0;
	assert_int_equal(of_a, 1);
	assert_int_equal(envset_number("MS", 2000), 1500);
	assert_int_equal(envset_number("WORD", 2000), 0);
	assert_int_equal(envset_number("BIG", 98), 0);
	assert_int_equal(envset_number("ABSENT", 2000), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shell_is_told_what_has_changed_since),
		cmocka_unit_test(a_shell_of_its_own_may_have_more),
		cmocka_unit_test(what_the_whole_lacks_is_unset),
		cmocka_unit_test(names_come_and_go_for_ever),
		cmocka_unit_test(what_no_environment_can_hold_is_refused),
		cmocka_unit_test(a_change_that_is_refused_changes_nothing),
		cmocka_unit_test(there_is_an_end_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
