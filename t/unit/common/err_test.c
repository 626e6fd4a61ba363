/* err_test.c: tests the error type that all code shares. */
#include "../unit.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/utf8.h"

static void
making_an_error_is_failing(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_set(&e, ERR_CONFLICT, CODE_LEASE_BUSY, "by %d", 7),
	    -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_code(e.code, CODE_LEASE_BUSY);
	assert_string_equal(e.msg, "by 7");
	assert_string_equal(e.field, "");
}

static void
every_kind_has_a_status_and_a_title(void **state)
{
	(void)state;
	for (int kind = 1; kind < ERR__MAX; kind++) {
		struct err e = { .kind = (enum err_kind)kind };

		assert_in_range(err_status(&e), 400, 599);
		assert_true(strlen(err_title(&e)) > 0);
		/* a client that may try again is told when */
		assert_int_equal(err_retry_after_seconds(&e) > 0,
		    err_retryable(&e));
	}
}

static void
an_error_nobody_set_is_our_fault(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_status(&e), 500);
}

static void
bad_input_names_its_field(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(err_field(&e, "ttl", "is %s", "odd"), -1);
	assert_int_equal(err_status(&e), 400);
	assert_code(e.code, CODE_VALIDATION_FAILED);
	assert_string_equal(e.field, "ttl");
	assert_string_equal(e.msg, "is odd");
	memcpy(e.more, "{}", 3);
	err_set(&e, ERR_INTERNAL, CODE_INTERNAL, "y");
	assert_string_equal(e.field, "");
	assert_string_equal(e.more, "");
	memcpy(e.more, "{}", 3);
	err_field(&e, "ttl", "is odd");
	assert_string_equal(e.more, "");
}

static void
a_failed_call_says_why_and_keeps_errno(void **state)
{
	struct err e = { 0 };

	(void)state;
	errno = ENOENT;
	assert_int_equal(err_errno(&e, "open %s", "x"), -1);
	assert_string_equal(e.msg, "open x: No such file or directory");
	assert_int_equal(errno, ENOENT);
	assert_int_equal(e.kind, ERR_INTERNAL);
}

static void
wrapping_adds_in_front_and_keeps_the_rest(void **state)
{
	struct err e = { 0 };

	(void)state;
	err_field(&e, "id", "no such thing");
	assert_int_equal(err_wrap(&e, "session %s", "a"), -1);
	assert_string_equal(e.msg, "session a: no such thing");
	assert_string_equal(e.field, "id");
	assert_int_equal(e.kind, ERR_INVALID);
}

static void
long_messages_are_cut_not_overrun(void **state)
{
	char big[2 * ERR_MSG_MAX];
	struct err e = { 0 };

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_field(&e, big, "%s", big);
	assert_int_equal(strlen(e.field), ERR_FIELD_MAX - 1);
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
	err_wrap(&e, "%s", big);
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
	errno = EIO;
	err_errno(&e, "%s", big);
	assert_int_equal(strlen(e.msg), ERR_MSG_MAX - 1);
}

/* Messages go into JSON and into rows, which take only valid text. */
static void
a_message_is_text_whatever_goes_into_it(void **state)
{
	char big[ERR_MSG_MAX];
	struct err e = { 0 };

	(void)state;
	err_set(&e, ERR_INTERNAL, CODE_INTERNAL, "a \xff b \xc3\xa4 c \xc3");
	assert_string_equal(e.msg, "a ? b \xc3\xa4 c ?");
	err_field(&e, "\xff", "%s", "\xff");
	assert_string_equal(e.field, "?");
	assert_string_equal(e.msg, "?");
	errno = EIO;
	err_errno(&e, "%s", "\xff");
	assert_string_equal(e.msg, "?: Input/output error");
	/* characters of two bytes: in one of both cases the last one is cut */
	for (size_t i = 0; i + 2 < sizeof(big); i += 2)
		memcpy(big + i, "\xc3\xa4", 3);
	for (int i = 0; i < 2; i++) {
		err_set(&e, ERR_INTERNAL, CODE_INTERNAL, "%s%s",
		    i == 0 ? "" : "x", big);
		assert_true(utf8_valid(e.msg, strlen(e.msg)));
		err_wrap(&e, "%s", i == 0 ? "" : "x");
		assert_true(utf8_valid(e.msg, strlen(e.msg)));
		err_wrap(&e, "y");
		assert_true(utf8_valid(e.msg, strlen(e.msg)));
		err_field(&e, big + (i == 0 ? 0 : 2), "x");
		assert_true(utf8_valid(e.field, strlen(e.field)));
	}
}

static void
a_tenant_is_not_told_of_this_host(void **state)
{
	static const struct {
		enum err_kind kind;
		enum err_code code;
		const char *msg;
		bool told;
	} CASES[] = {
		{ ERR_CONFLICT, CODE_SESSION_LOST, "the files are gone", true },
		{ ERR_BAD_GATEWAY, CODE_AGENT_ERROR, "/workspace/x: no", true },
		{ ERR_UNAVAILABLE, CODE_NO_STORAGE, "/srv/sl/x is not there",
		    false },
		{ ERR_UNAVAILABLE, CODE_START_FAILED,
		    "bwrap: Can't mkdir /srv/sl/box: no", false },
		{ ERR_BUSY, CODE_LEASE_BUSY, "seen gone first (/srv/sl/c: no)",
		    false },
		{ ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE, "mkdir /srv/sl/box",
		    false },
		{ ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
		    "mkdir box/a: No space left on device", false },
		{ ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE, "too little", true },
		{ ERR_NO_SPACE, CODE_NO_SPACE_LEFT, "mkdir box/a: full",
		    false },
		{ ERR_INTERNAL, CODE_INTERNAL, "rename: no", false },
		{ ERR_UNAVAILABLE, CODE_NO_ROOTFS, "/images/a is not there",
		    false },
	};
	struct err e = { 0 };

	(void)state;
	err_host_path("/"); /* every path begins so: hides none */
	err_host_path("/srv/sl");
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		err_set(&e, CASES[i].kind, CASES[i].code, "%s", CASES[i].msg);
		if (CASES[i].told) {
			assert_string_equal(err_told(&e), CASES[i].msg);
			continue;
		}
		assert_null(strchr(err_told(&e), '/'));
		assert_string_equal(e.msg, CASES[i].msg); /* for the log */
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(making_an_error_is_failing),
		cmocka_unit_test(every_kind_has_a_status_and_a_title),
		cmocka_unit_test(an_error_nobody_set_is_our_fault),
		cmocka_unit_test(bad_input_names_its_field),
		cmocka_unit_test(a_failed_call_says_why_and_keeps_errno),
		cmocka_unit_test(wrapping_adds_in_front_and_keeps_the_rest),
		cmocka_unit_test(long_messages_are_cut_not_overrun),
		cmocka_unit_test(a_message_is_text_whatever_goes_into_it),
		cmocka_unit_test(a_tenant_is_not_told_of_this_host),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
