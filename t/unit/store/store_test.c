/* store_test.c: tests an absent database, and the table of statements. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "store/migrate.h"
#include "store/store.h"

static const struct store_options OPTIONS = { "store_test", 500 };
/* no such directory: refused at once, on any machine */
static const char NOBODY[] =
    "host=/nonexistent/sandlease-test dbname=nobody user=nobody";

static void
a_database_that_is_not_there_is_unavailable(void **state)
{
	struct store *st = store_new(NOBODY, &OPTIONS);
	struct rows *r = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(STORE_RUN(st, STMT_PING, &r, &e), -1);
	assert_null(r);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_code(e.code, CODE_DATABASE_UNAVAILABLE);
	assert_true(err_retryable(&e));
	assert_non_null(strstr(e.msg, "/nonexistent/sandlease-test"));
	assert_null(strchr(e.msg, '\n'));
	store_free(st);
}

static void
a_second_try_fails_the_same_way(void **state)
{
	struct store *st = store_new(NOBODY, &OPTIONS);

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct err e = { 0 };

		assert_int_equal(store_script(st, "SELECT 1", &e), -1);
		assert_int_equal(e.kind, ERR_UNAVAILABLE);
	}
	store_free(st);
}

static void
settings_that_libpq_cannot_read_are_unavailable_too(void **state)
{
	struct store *st = store_new("this is no connection string", &OPTIONS);
	struct err e = { 0 };

	(void)state;
	assert_int_equal(STORE_RUN(st, STMT_PING, NULL, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	store_free(st);
}

static void
migrating_nowhere_fails_before_any_script_is_read(void **state)
{
	struct store *st = store_new(NOBODY, &OPTIONS);
	struct err e = { 0 };
	size_t applied = 7;

	(void)state;
	assert_int_equal(migrate(st, "/nonexistent/sql", &applied, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_int_equal(applied, 0);
	store_free(st);
}

static void
a_store_that_never_connected_can_be_dropped(void **state)
{
	struct store *st = store_new(NOBODY, &OPTIONS);
	struct rows *none = NULL;

	(void)state;
	store_disconnect(st);
	store_disconnect(st);
	rows_free(&none);
	store_free(st);
}

/* The highest $n of a statement's text. */
static size_t
highest_parameter(const char *sql)
{
	size_t max = 0;

	for (const char *s = strchr(sql, '$'); s != NULL;
	     s = strchr(s + 1, '$')) {
		size_t n = (size_t)strtoul(s + 1, NULL, 10);

		if (n > max)
			max = n;
	}
	return max;
}

static void
every_statement_names_as_many_parameters_as_it_uses(void **state)
{
	(void)state;
	for (int i = 0; i < STMT__MAX; i++) {
		const char *name = store_stmt_name((enum stmt)i);
		size_t uses = highest_parameter(store_stmt_sql((enum stmt)i));

		if (uses != store_stmt_params((enum stmt)i))
			fail_msg("%s uses %zu parameters and names %zu", name,
			    uses, store_stmt_params((enum stmt)i));
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name,
			    store_stmt_name((enum stmt)k));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_database_that_is_not_there_is_unavailable),
		cmocka_unit_test(a_second_try_fails_the_same_way),
		cmocka_unit_test(
		    settings_that_libpq_cannot_read_are_unavailable_too),
		cmocka_unit_test(
		    migrating_nowhere_fails_before_any_script_is_read),
		cmocka_unit_test(a_store_that_never_connected_can_be_dropped),
		cmocka_unit_test(
		    every_statement_names_as_many_parameters_as_it_uses),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
