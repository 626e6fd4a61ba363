/* base64_test.c: RFC 4648. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/base/base64.h"
#include "common/mem.h"

static const struct {
	const char *plain, *coded;
} VECTORS[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xfe", "+//+" },
};

static void
the_vectors_of_the_rfc_hold_both_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(VECTORS); i++) {
		auto_buf struct buf coded = { 0 };
		auto_buf struct buf plain = { 0 };
		const char *want = VECTORS[i].plain;

		base64_encode(&coded, want, strlen(want));
		assert_int_equal(coded.len, strlen(VECTORS[i].coded));
		if (coded.len > 0)
			assert_memory_equal(coded.data, VECTORS[i].coded,
			    coded.len);
		assert_true(base64_decode(&plain, VECTORS[i].coded,
		    strlen(VECTORS[i].coded)));
		assert_int_equal(plain.len, strlen(want));
		if (plain.len > 0)
			assert_memory_equal(plain.data, want, plain.len);
	}
}

static void
what_is_not_base64_is_refused(void **state)
{
	static const char *const BAD[] = { "Z", "Zg",
		"Zg=", "Zg===", "====", "Zg=a", "Z===", "Zm9v\n", "Zm9-",
		"Zm9_", "Z m9", "Zg==Zg==" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		auto_buf struct buf b = { 0 };

		assert_false(base64_decode(&b, BAD[i], strlen(BAD[i])));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_rfc_hold_both_ways),
		cmocka_unit_test(what_is_not_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
