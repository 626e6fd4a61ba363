/* base64_test.c: tests base64 (RFC 4648). */
#include "../unit.h"

#include <string.h>

#include "common/base64.h"
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

		buf_str(&b, ">");
		assert_false(base64_decode(&b, BAD[i], strlen(BAD[i])));
		assert_false(base64_decode_strict(&b, BAD[i], strlen(BAD[i])));
		assert_string_equal(b.data, ">");
	}
}

static void
bits_too_many_are_refused_where_one_text_must_stand_for_one_value(void **state)
{
	static const char *const LOOSE[] = { "Zh==", "Zm9=", "Zm9vZv==" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(LOOSE); i++) {
		auto_buf struct buf b = { 0 };

		assert_false(
		    base64_decode_strict(&b, LOOSE[i], strlen(LOOSE[i])));
		assert_int_equal(b.len, 0);
		assert_true(base64_decode(&b, LOOSE[i], strlen(LOOSE[i])));
		assert_memory_equal(b.data, "foof", b.len < 3 ? b.len : 4);
	}
}

static void
every_byte_comes_back(void **state)
{
	auto_buf struct buf coded = { 0 }, plain = { 0 };
	unsigned char all[3 * 256];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)(i + i / 256);
	buf_str(&coded, "AAAA");
	base64_encode(&coded, all, sizeof(all));
	assert_int_equal(strlen(coded.data), coded.len);
	assert_true(
	    base64_decode_strict(&plain, coded.data + 4, coded.len - 4));
	assert_int_equal(plain.len, sizeof(all));
	assert_memory_equal(plain.data, all, sizeof(all));
	assert_int_equal(plain.data[plain.len], '\0');
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_rfc_hold_both_ways),
		cmocka_unit_test(what_is_not_base64_is_refused),
		cmocka_unit_test(
		    bits_too_many_are_refused_where_one_text_must_stand_for_one_value),
		cmocka_unit_test(every_byte_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
