/* sandbox_id_test.c: tests which sandbox a session lives in. */
#include "../unit.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/sandbox_id.h"

#define ORG_USER "aa6ba1f356e062c430f121b97b5fd9cfd64c51487e5f28c5"
#define USER "3c060fe2d53dd0b6e7a7e03084b290b64c8e0f67a8988161"
#define REVIEWER "4415e0ae1dcbda7236e3bf04b66f13344682f349eac4500d"
#define AGENT "51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae370"
#define SALTED "7d891a9e4905bb0d5ff8dffcb99ba76973039c70340665b0"

static void
the_first_rule_that_fits_names_the_sandbox(void **state)
{
	static const struct {
		struct sandbox_owner owner; /* org user bot salt session */
		bool isolated;
		const char *want;
	} CASES[] = {
		{ { "org-id", "user-id", "", "", "agent_abc123" }, true,
		    "ses-" AGENT },
		{ { "", "user-id", "reviewer", "", "agent_abc123" }, true,
		    "ses-" AGENT },
		/* a salt moves owners of shared sandboxes, not isolated ones */
		{ { "org-id", "user-id", "", "shared-v2", "agent_abc123" },
		    true, "ses-" AGENT },
		{ { "org-id", "user-id", "reviewer", "", "x" }, false,
		    "bot-" REVIEWER },
		{ { "org-id", "user-id", "", "", "x" }, false,
		    "org-" ORG_USER },
		{ { "org-id", "user-id", "", "", "another" }, false,
		    "org-" ORG_USER },
		{ { "org-id", "user-id", "", "shared-v2", "x" }, false,
		    "org-" SALTED },
		{ { "", "user-id", "", "", "x" }, false, "usr-" USER },
		{ { NULL, "user-id", NULL, NULL, "x" }, false, "usr-" USER },
		/* SHA-256 of user:user-id__user-id__bot:reviewer */
		{ { "", "user-id", "reviewer", "", "x" }, false,
		    "ubt-fb0f08bd868516e812f84fc34ddc327364046281c8e4c978" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char id[SANDBOX_ID_MAX];
		struct err e = { 0 };

		sandbox_id_derive(&CASES[i].owner, CASES[i].isolated, id);
		assert_string_equal(id, CASES[i].want);
		assert_int_equal(strlen(id), SANDBOX_ID_LEN);
		assert_int_equal(sandbox_id_check(id, &e), 0);
		assert_int_equal(sandbox_id_is_isolated(id), CASES[i].isolated);
	}
}

static void
owners_do_not_meet(void **state)
{
	static const struct sandbox_owner OWNERS[] = {
		{ "o", "u", "", "", "s" }, { "o", "v", "", "", "s" },
		{ "p", "u", "", "", "s" }, { "", "u", "", "", "s" },
		{ "o", "u", "b", "", "s" }, { "o", "u", "c", "", "s" },
		{ "", "u", "b", "", "s" }, { "o", "u", "", "salt", "s" },
		{ "user:u", "u", "", "", "s" }, /* an org with an odd name */
	};
	char ids[ARRAY_LEN(OWNERS)][SANDBOX_ID_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(OWNERS); i++) {
		sandbox_id_derive(&OWNERS[i], false, ids[i]);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
}

static void
the_list_isolates_whom_it_names(void **state)
{
	static const struct {
		const char *list, *org;
		bool isolated;
	} CASES[] = {
		{ "", "acme", false },
		{ "", "", false },
		{ "acme", "acme", true },
		{ " acme , globex ", "globex", true },
		{ "acme,,globex", "globex", true },
		{ "acme", "acme2", false },
		{ "acme2", "acme", false },
		{ "ACME", "acme", false },
		/* every org, and personal sessions, too */
		{ "*", "acme", true },
		{ "*", "", true },
		{ " * ", NULL, true },
		{ "acme, *", "other", true },
		{ "acme*", "other", false },
		/* without a star, a session without an org is on no list */
		{ "acme", "", false },
		{ ",", "", false },
		{ " , ", "", false },
		{ "acme", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(sandbox_id_isolated_by_list(CASES[i].list,
				     CASES[i].org),
		    CASES[i].isolated);
}

static void
stored_ids_are_ours_or_legacy(void **state)
{
	static const struct {
		const char *id;
		bool good;
	} CASES[] = {
		{ "ses-" AGENT, true },
		{ "org-" ORG_USER, true },
		{ "usr-" USER, true },
		{ "bot-" REVIEWER, true },
		{ "ubt-" REVIEWER, true },
		{ "xyz-" AGENT, false },
		{ "ses_" AGENT, false },
		{ "ses-" AGENT "0", false },
		{ "ses-51256c9f", false },
		{ "ses-51256C9FCD04EF0144D0AFCDFB9FFB2ABC280FF2E0BAE370",
		    false },
		{ "ses-51256c9fcd04ef0144d0afcdfb9ffb2abc280ff2e0bae37g",
		    false },
		{ "ses-", false },
		{ "", false },
		/* legacy: raw, with the two underscores of old */
		{ "org-id__user-id", true },
		{ "org/with slash__user:x", true },
		{ "__", true },
		{ "org_user", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };

		assert_int_equal(sandbox_id_check(CASES[i].id, &e),
		    CASES[i].good ? 0 : -1);
		if (!CASES[i].good)
			assert_non_null(strstr(e.msg, CASES[i].id));
	}
}

static void
a_legacy_id_has_its_bound_too(void **state)
{
	char id[SANDBOX_ID_MAX + 1];
	struct err e = { 0 };

	(void)state;
	memset(id, '_', SANDBOX_ID_MAX);
	id[SANDBOX_ID_MAX] = '\0';
	assert_int_equal(sandbox_id_check(id, &e), -1);
	id[SANDBOX_ID_MAX - 1] = '\0';
	assert_int_equal(sandbox_id_check(id, &e), 0);
}

static void
the_prefix_alone_tells_the_class(void **state)
{
	(void)state;
	assert_true(sandbox_id_is_isolated("ses-" AGENT));
	assert_false(sandbox_id_is_isolated("org-" ORG_USER));
	assert_false(sandbox_id_is_isolated("org__session"));
	assert_false(sandbox_id_is_isolated("ses"));
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(the_first_rule_that_fits_names_the_sandbox),
		cmocka_unit_test(owners_do_not_meet),
		cmocka_unit_test(the_list_isolates_whom_it_names),
		cmocka_unit_test(stored_ids_are_ours_or_legacy),
		cmocka_unit_test(a_legacy_id_has_its_bound_too),
		cmocka_unit_test(the_prefix_alone_tells_the_class),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
