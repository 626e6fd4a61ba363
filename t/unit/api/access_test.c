/*
 * access_test.c: tests which credential a call carries, and which calls that
 * credential permits.
 */
#include "../unit.h"

#include <stdlib.h>
#include <string.h>

#include "../web/fake_io.h"
#include "api/gate/access.h"
#include "common/mem.h"

/* The given headers and the wanted credential; NULL: nothing, "!": refused. */
struct credential_case {
	const char *bearer, *key, *cookie, *scheme;
	const char *want;
	enum credential_kind kind;
};

#define LONG                                                                   \
	"0123456789012345678901234567890123456789012345678901234567890123"     \
	"0123456789012345678901234567890123456789012345678901234567890123"

static const struct credential_case CREDENTIALS[] = {
	{ .want = NULL },
	{ .bearer = "Bearer sl_abc", .want = "sl_abc" },
	{ .key = "sl_abc", .want = "sl_abc" },
	{ .bearer = "", .key = "sl_abc", .want = "sl_abc" },
	{ .bearer = "Bearer sl_abc", .key = "sl_abc", .want = "!" },
	{ .bearer = "Basic dXNlcjpw", .want = "!" },
	{ .bearer = "bearer sl_abc", .want = "sl_abc" },
	{ .bearer = "BEARER   sl_abc", .want = "sl_abc" },
	{ .bearer = "Bearersl_abc", .want = "!" },
	{ .bearer = "sl_abc", .want = "!" },
	{ .bearer = "Bearer " LONG, .want = "!" },
	{ .key = LONG, .want = "!" },
	{ .cookie = "sandlease=tok", .want = "tok", .kind = CREDENTIAL_LOGIN },
	{ .cookie = "a=b; sandlease=tok; c=d",
	    .want = "tok",
	    .kind = CREDENTIAL_LOGIN },
	{ .cookie = "a=b;sandlease=tok",
	    .want = "tok",
	    .kind = CREDENTIAL_LOGIN },
	{ .cookie = "xsandlease=tok", .want = NULL },
	{ .cookie = "sandleasex=tok", .want = NULL },
	{ .cookie = "sandlease", .want = NULL },
	{ .cookie = ";;; ", .want = NULL },
	{ .cookie = "sandlease=" LONG, .want = NULL },
	/* the cookie name that only TLS may set counts with https only */
	{ .cookie = "__Host-sandlease=tok",
	    .scheme = "https",
	    .want = "tok",
	    .kind = CREDENTIAL_LOGIN },
	{ .cookie = "sandlease=tok", .scheme = "https", .want = NULL },
	{ .cookie = "__Host-sandlease=tok", .scheme = "http", .want = NULL },
	/* a key wins over the cookie */
	{ .key = "sl_abc", .cookie = "sandlease=tok", .want = "sl_abc" },
	{ .bearer = "Bearer sl_abc",
	    .cookie = "sandlease=tok",
	    .want = "sl_abc" },
};

static void
a_credential_comes_from_one_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CREDENTIALS); i++) {
		const struct credential_case *t = &CREDENTIALS[i];
		const char *const params[] = { "HTTP_AUTHORIZATION",
			t->bearer != NULL ? t->bearer : "", "HTTP_X_API_KEY",
			t->key != NULL ? t->key : "", "HTTP_COOKIE",
			t->cookie != NULL ? t->cookie : "", "SL_SCHEME",
			t->scheme != NULL ? t->scheme : "http", NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/v1/me");
		char hash[TOKEN_HASH_HEX_MAX] = "";
		struct credential got;
		struct err e = { 0 };
		int rc = access_credential(&c, &got, &e);
		bool refused = t->want != NULL && strcmp(t->want, "!") == 0;

		if (rc != (refused ? -1 : 0))
			fail_msg("case %zu: %d", i, rc);
		if (refused) {
			assert_int_equal(e.kind, ERR_UNAUTHENTICATED);
			assert_code(e.code, CODE_UNAUTHORIZED);
		} else if (got.given != (t->want != NULL)) {
			fail_msg("case %zu: given %d", i, got.given);
		} else if (t->want != NULL) {
			token_hash(t->want, hash);
			assert_string_equal(got.hash, hash);
			assert_int_equal(got.kind, t->kind);
		}
		fake_end(&f, &c);
	}
}

static void
a_scope_allows_what_is_below_it(void **state)
{
	static const struct {
		const char *scope;
		bool allows[4]; /* none, read, tenant, admin */
	} CASES[] = {
		{ "read", { true, true, false, false } },
		{ "tenant", { true, true, true, false } },
		{ "admin", { true, true, true, true } },
		{ "", { true, false, false, false } },
		{ "none", { true, false, false, false } },
		{ "ADMIN", { true, false, false, false } },
		{ "admin ", { true, false, false, false } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		for (int a = ACCESS_NONE; a <= ACCESS_ADMIN; a++)
			if (access_scope_allows(CASES[i].scope,
				(enum access_level)a) != CASES[i].allows[a])
				fail_msg("%s, %s", CASES[i].scope,
				    ACCESS_NAMES[a]);
}

static void
a_call_with_the_cookie_comes_from_our_pages(void **state)
{
	static const struct {
		const char *origin;
		bool ours;
	} CASES[] = {
		{ "http://box.example:8080", true },
		{ "", false },
		{ "null", false },
		{ "https://box.example:8080", false },
		{ "http://box.example", false },
		{ "http://box.example:8080.evil.example", false },
		{ "http://evil.example", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "HTTP_ORIGIN", CASES[i].origin,
			"SL_SCHEME", "http", "SL_HOST", "box.example:8080",
			NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "POST", "/v1/sessions");
		struct err e = { 0 };
		int rc = access_same_origin(&c, &e);

		if ((rc == 0) != CASES[i].ours)
			fail_msg("%s", CASES[i].origin);
		if (rc < 0)
			assert_int_equal(e.kind, ERR_DENIED);
		fake_end(&f, &c);
	}
}

static void
the_cookie_counts_for_scripts_of_our_own(void **state)
{
	static const struct {
		const char *site, *dest;
		bool ours;
	} CASES[] = {
		{ "same-origin", "empty", true },
		{ "", "", false },
		{ "same-origin", "", false },
		{ "", "empty", false },
		{ "same-site", "empty", false },
		{ "cross-site", "empty", false },
		{ "none", "document", false },
		{ "same-origin", "document", false },
		{ "same-origin", "iframe", false },
		{ "same-origin", "script", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *const params[] = { "HTTP_SEC_FETCH_SITE",
			CASES[i].site, "HTTP_SEC_FETCH_DEST", CASES[i].dest,
			NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/v1/sessions/x/api/y");
		struct err e = { 0 };
		int rc = access_own_script(&c, &e);

		if ((rc == 0) != CASES[i].ours)
			fail_msg("%s, %s", CASES[i].site, CASES[i].dest);
		if (rc < 0)
			assert_code(e.code, CODE_ORIGIN_MISMATCH);
		fake_end(&f, &c);
	}
}

/* Calls that are refused before the database is asked: there is none here. */
static void
a_bad_call_never_reaches_the_database(void **state)
{
	static const struct store_options OPTIONS = { "access_test", 500 };
	static const struct {
		const char *method;
		const char *params[7];
		enum access_level needed;
		enum err_code code; /* CODE_NONE: admitted */
	} CASES[] = {
		{ "GET", { NULL }, ACCESS_NONE, CODE_NONE },
		{ "GET", { NULL }, ACCESS_READ, CODE_UNAUTHORIZED },
		{ "POST", { "HTTP_AUTHORIZATION", "Basic x", NULL },
		    ACCESS_TENANT, CODE_UNAUTHORIZED },
		{ "POST", { "HTTP_COOKIE", "sandlease=t", NULL }, ACCESS_TENANT,
		    CODE_ORIGIN_MISMATCH },
		{ "DELETE",
		    { "HTTP_COOKIE", "sandlease=t", "HTTP_ORIGIN",
			"http://evil.example", NULL },
		    ACCESS_TENANT, CODE_ORIGIN_MISMATCH },
		/* these two go on to the database, which does not exist */
		{ "GET", { "HTTP_COOKIE", "sandlease=t", NULL }, ACCESS_READ,
		    CODE_DATABASE_UNAVAILABLE },
		{ "POST", { "HTTP_X_API_KEY", "sl_x", NULL }, ACCESS_TENANT,
		    CODE_DATABASE_UNAVAILABLE },
	};
	struct app app = { .store =
			       store_new("host=/nonexistent/sl", &OPTIONS) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { .params = CASES[i].params };
		struct call c = fake_begin(&f, CASES[i].method, "/v1/x");
		struct err e = { 0 };
		int rc;

		c.context = &app;
		rc = access_check(&c, CASES[i].needed, &e);
		assert_int_equal(rc, CASES[i].code == CODE_NONE ? 0 : -1);
		if (CASES[i].code != CODE_NONE)
			assert_code(e.code, CASES[i].code);
		fake_end(&f, &c);
	}
	free(app.note); /* no worker has written the note */
	store_free(app.store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_credential_comes_from_one_place),
		cmocka_unit_test(a_scope_allows_what_is_below_it),
		cmocka_unit_test(a_call_with_the_cookie_comes_from_our_pages),
		cmocka_unit_test(the_cookie_counts_for_scripts_of_our_own),
		cmocka_unit_test(a_bad_call_never_reaches_the_database),
	};
	struct err e = { 0 };

	if (token_init(&e) < 0)
		return 1;
	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
