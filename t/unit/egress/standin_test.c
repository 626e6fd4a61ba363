/* standin_test.c: tests that each name has one address, and each its name. */
#include "../unit.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "egress/base/standin.h"

enum { FIRST = 0xc6120000, LAST = 0xc613ffff }; /* of 198.18.0.0/15 */

static uint32_t
standin(struct standins *t, const char *name)
{
	const struct in_addr *a = standin_of(t, name);

	assert_non_null(a);
	return ntohl(a->s_addr);
}

static const char *
name_of(const struct standins *t, uint32_t address)
{
	return standin_name(t, (struct in_addr){ .s_addr = htonl(address) });
}

static void
write_name(char name[32], int i)
{
	snprintf(name, 32, "h%d.example", i);
}

static void
a_name_keeps_its_address(void **state)
{
	static uint32_t given[STANDINS_MAX];
	struct standins t = { 0 };
	char name[32];

	(void)state;
	for (int i = 0; i < STANDINS_MAX; i++) {
		write_name(name, i);
		given[i] = standin(&t, name);
		assert_int_equal(standin(&t, name), given[i]);
		/* neither the network's addresses nor the device's */
		assert_in_range(given[i], FIRST + 2, LAST - 1);
	}
	for (int i = 0; i < STANDINS_MAX; i++) {
		write_name(name, i);
		assert_int_equal(standin(&t, name), given[i]);
		/* so no two names have the same */
		assert_string_equal(name_of(&t, given[i]), name);
	}
	assert_int_equal(t.count, STANDINS_MAX);
	standins_free(&t);
	assert_int_equal(t.count, 0);
}

static void
a_full_table_gives_no_more(void **state)
{
	struct standins t = { 0 };
	uint32_t first;
	char name[32];

	(void)state;
	first = standin(&t, "first.example");
	for (int i = 1; i < STANDINS_MAX; i++) {
		write_name(name, i);
		standin(&t, name);
	}
	for (int i = 0; i < 3; i++)
		assert_null(standin_of(&t, "one.too.many.example"));
	assert_int_equal(t.count, STANDINS_MAX);
	assert_int_equal(standin(&t, "first.example"), first);
	assert_string_equal(name_of(&t, first), "first.example");
	standins_free(&t);
}

static void
an_address_that_was_not_given_has_no_name(void **state)
{
	struct standins t = { 0 };
	uint32_t given;

	(void)state;
	assert_null(name_of(&t, FIRST + 2));
	given = standin(&t, "a.example");
	for (uint32_t i = FIRST - 2; i <= LAST + 2U; i++)
		if (i != given && name_of(&t, i) != NULL)
			fail_msg("%08x", i);
	assert_null(name_of(&t, 0));
	assert_null(name_of(&t, 0x7f000001));
	standins_free(&t);
	assert_null(name_of(&t, given));
}

static void
tables_give_the_same_address_to_a_name(void **state)
{
	struct standins a = { 0 }, b = { 0 };
	char name[32];

	(void)state;
	/* few names do not meet; the order in which they come is no matter */
	for (int i = 0; i < 20; i++) {
		write_name(name, i);
		standin(&a, name);
	}
	for (int i = 19; i >= 0; i--) {
		write_name(name, i);
		standin(&b, name);
	}
	for (int i = 0; i < 20; i++) {
		write_name(name, i);
		assert_int_equal(standin(&a, name), standin(&b, name));
	}
	/* another hash would break addresses that programs have kept */
	assert_int_equal(standin(&a, "api.example.com"), 0xc61340e5);
	standins_free(&a);
	standins_free(&b);
}

/* Finds two names that have the same address in tables of their own. */
static void
find_collision(char one[32], char other[32])
{
	static char seen[LAST - FIRST + 1][16];

	for (int i = 0;; i++) {
		struct standins t = { 0 };
		uint32_t at;

		write_name(one, i);
		at = standin(&t, one) - FIRST;
		standins_free(&t);
		if (seen[at][0] != '\0') {
			str_copy(other, 32, seen[at]);
			return;
		}
		str_copy(seen[at], sizeof(seen[at]), one);
	}
}

static void
names_that_meet_get_two_addresses(void **state)
{
	struct standins t = { 0 };
	char one[32], other[32];
	uint32_t a, b;

	(void)state;
	find_collision(one, other);
	a = standin(&t, one);
	b = standin(&t, other);
	assert_int_not_equal(a, b);
	assert_string_equal(name_of(&t, a), one);
	assert_string_equal(name_of(&t, b), other);
	assert_int_equal(standin(&t, one), a);
	assert_int_equal(standin(&t, other), b);
	standins_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_keeps_its_address),
		cmocka_unit_test(a_full_table_gives_no_more),
		cmocka_unit_test(an_address_that_was_not_given_has_no_name),
		cmocka_unit_test(tables_give_the_same_address_to_a_name),
		cmocka_unit_test(names_that_meet_get_two_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
