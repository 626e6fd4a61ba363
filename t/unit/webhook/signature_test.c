/* signature_test.c: tests the signature of a webhook's request. */
#include "../unit.h"

#include <string.h>

#include "webhook/signature.h"

/* By: printf %s '1700000000.{"id":"a"}' | openssl dgst -sha256 -hmac whsec_x */
static void
it_is_of_time_and_body(void **state)
{
	char out[SIGNATURE_MAX];

	(void)state;
	signature_make("whsec_x", 1700000000, "{\"id\":\"a\"}", out);
	assert_string_equal(out,
	    "t=1700000000,v1="
	    "5450a0c216f4175af4bcc2b23c03f4a0401f9e4f1db0a89457fb32ef797c95c5");
}

static void
it_differs_with_each_part(void **state)
{
	char one[SIGNATURE_MAX], other[SIGNATURE_MAX];

	(void)state;
	signature_make("whsec_x", 1700000000, "{}", one);
	signature_make("whsec_y", 1700000000, "{}", other);
	assert_string_not_equal(one, other);
	signature_make("whsec_x", 1700000000, "{ }", other);
	assert_string_not_equal(one, other);
	signature_make("whsec_x", 1700000001, "{}", other);
	assert_string_not_equal(strchr(one, ','), strchr(other, ','));
	/* the longest time fits */
	signature_make("whsec_x", INT64_MIN, "{}", other);
	assert_int_equal(strlen(strstr(other, "v1=")), 3 + 64);
}

static int
start_sodium(void **state)
{
	struct err e = { 0 };

	(void)state;
	return token_init(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_of_time_and_body),
		cmocka_unit_test(it_differs_with_each_part),
	};

	return cmocka_run_group_tests(tests, start_sodium, NULL);
}
