/* cells_test.c: tests the table of a sandbox's cells. */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "agent/init/cells.h"
#include "common/str.h"

static const char A[] = "aaaaaaaaaaaaaaaaaaaa", B[] = "bbbbbbbbbbbbbbbbbbbb";

static void
add(struct cells *t, const char *session, pid_t pid)
{
	struct cell c = { .pid = pid,
		.generation = pid,
		.channel = -1,
		.freezer = -1 };
	struct err e;

	str_copy(c.session, sizeof(c.session), session);
	str_copy(c.instance, sizeof(c.instance), "i");
	assert_int_equal(cells_add(t, &c, &e), 0);
}

static void
release(struct cells *t)
{
	free(t->cell);
}

static void
a_cell_is_found_until_it_is_removed(void **state)
{
	struct cells t = { 0 };
	json_t *list;

	(void)state;
	add(&t, A, 10);
	add(&t, B, 20);
	assert_int_equal(cells_find(&t, B)->pid, 20);
	assert_string_equal(cells_by_pid(&t, 10)->session, A);
	list = cells_wrappers(&t, B);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	cells_remove(&t, cells_find(&t, A));
	assert_null(cells_find(&t, A));
	assert_int_equal(cells_find(&t, B)->pid, 20);
	list = cells_list(&t);
	assert_int_equal(json_array_size(list), 1);
	json_decref(list);
	release(&t);
}

static void
there_is_an_end_to_them(void **state)
{
	struct cells t = { 0 };
	struct err e = { 0 };
	struct cell c = { .channel = -1, .freezer = -1 };

	(void)state;
	for (int i = 0; i < CELLS_MAX; i++)
		add(&t, A, i + 1);
	assert_int_equal(cells_add(&t, &c, &e), -1);
	assert_code(e.code, CODE_LAUNCH_FAILED);
	release(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cell_is_found_until_it_is_removed),
		cmocka_unit_test(there_is_an_end_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
