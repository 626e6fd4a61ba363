/* router_test.c: tests the table of routes. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "fake_io.h"
#include "web/router.h"

/* clang-format off */
static const struct route ROUTES[] = {
	{ .method = "GET",    .pattern = "/v1/sessions"                },
	{ .method = "POST",   .pattern = "/v1/sessions"                },
	{ .method = "GET",    .pattern = "/v1/sessions/:id"            },
	{ .method = "DELETE", .pattern = "/v1/sessions/:id"            },
	{ .method = "DELETE", .pattern = "/v1/sessions/:id/ports/:port" },
	{ .method = "GET",    .pattern = "/v1/files/*"                 },
	{ .method = "POST",   .pattern = "/v1/:a/:b/:c/:d"             },
	{ .method = "POST",   .pattern = "/many/:a/:b/:c/:d/:e"        },
};
/* clang-format on */

static const struct route *
match(struct call *c, struct err *e)
{
	return router_match(ROUTES, ARRAY_LEN(ROUTES), c, e);
}

static void
paths_find_their_rows(void **state)
{
	static const struct {
		const char *method, *path;
		int row; /* -1: no such route; -2: wrong method */
	} CASES[] = {
		{ "GET", "/v1/sessions", 0 },
		{ "HEAD", "/v1/sessions", 0 },
		{ "POST", "/v1/sessions", 1 },
		{ "GET", "/v1/sessions/abc", 2 },
		{ "DELETE", "/v1/sessions/abc", 3 },
		{ "DELETE", "/v1/sessions/abc/ports/80", 4 },
		{ "GET", "/v1/files/a/b/c", 5 },
		{ "GET", "/v1/files/", 5 },
		{ "GET", "/v1/files", -1 },
		{ "POST", "/v1/1/2/3/4", 6 },
		{ "GET", "/v1/sessions/", -1 },
		{ "GET", "/v1/sessions/abc/", -1 },
		{ "GET", "/v1/session", -1 },
		{ "GET", "/v1/sessionsx", -1 },
		{ "GET", "", -1 },
		{ "GET", "/", -1 },
		{ "PUT", "/v1/sessions", -2 },
		{ "get", "/v1/sessions", -2 },
		{ "HEAD", "/v1/sessions/abc/ports/80", -2 },
		/* more :names than a call can hold never match */
		{ "POST", "/many/1/2/3/4/5", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct fake f = { 0 };
		struct call c = fake_begin(&f, CASES[i].method, CASES[i].path);
		struct err e = { 0 };
		const struct route *r = match(&c, &e);

		if (CASES[i].row >= 0) {
			assert_ptr_equal(r, &ROUTES[CASES[i].row]);
		} else {
			assert_null(r);
			assert_int_equal(err_status(&e),
			    CASES[i].row == -1 ? 404 : 405);
		}
		fake_end(&f, &c);
	}
}

static void
names_hold_what_they_matched(void **state)
{
	struct fake f = { 0 };
	struct call c =
	    fake_begin(&f, "DELETE", "/v1/sessions/abc%2f/ports/8080");
	struct err e = { 0 };

	(void)state;
	assert_non_null(match(&c, &e));
	assert_string_equal(call_var(&c, "id"), "abc%2f");
	assert_string_equal(call_var(&c, "port"), "8080");
	assert_string_equal(call_var(&c, "other"), "");
	fake_end(&f, &c);
}

static void
a_segment_that_is_too_long_matches_nothing(void **state)
{
	char path[CALL_VAR_MAX + 32];
	size_t head = (size_t)snprintf(path, sizeof(path), "/v1/sessions/");
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "GET", path);
	struct err e = { 0 };

	(void)state;
	memset(path + head, 'x', CALL_VAR_MAX);
	path[head + CALL_VAR_MAX] = '\0';
	assert_null(match(&c, &e));
	path[head + CALL_VAR_MAX - 1] = '\0';
	assert_non_null(match(&c, &e));
	assert_int_equal(strlen(call_var(&c, "id")), CALL_VAR_MAX - 1);
	fake_end(&f, &c);
}

static void
a_wrong_method_is_told_the_right_ones(void **state)
{
	struct fake f = { 0 };
	struct call c = fake_begin(&f, "PATCH", "/v1/sessions/abc");
	struct err e = { 0 };

	(void)state;
	assert_null(match(&c, &e));
	assert_code(e.code, CODE_METHOD_NOT_ALLOWED);
	assert_string_equal(c.headers.data, "Allow: GET, DELETE\r\n");
	assert_string_equal(e.msg, "this path supports GET, DELETE");
	fake_end(&f, &c);
}

static void
a_slip_is_told_what_was_meant(void **state)
{
	static const struct route TABLE[] = {
		{ "GET", "/api/read", 0, NULL },
		{ "GET", "/api/execute", 0, NULL },
		{ "GET", "/api/execute/stream", 0, NULL },
		{ "GET", "/api/process/:id/logs", 0, NULL },
		{ "GET", "/files/*", 0, NULL },
	};
	static const struct {
		const char *path, *want; /* NULL: none is near */
	} CASES[] = {
		{ "/api/exec", "/api/execute" },
		{ "/api/executee", "/api/execute" },
		{ "/api/exeucte/straem", "/api/execute/stream" },
		{ "/api/execute/frobnicate", NULL },
		{ "/api/proces/something-else/log", "/api/process/:id/logs" },
		{ "/api/process/x", NULL },
		{ "/file/a/b", "/files/*" },
		{ "/api/raed", "/api/read" },
		{ "/api//", NULL },
		{ "/other", NULL },
		{ "", "/api/read" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct route *r =
		    router_nearest(TABLE, ARRAY_LEN(TABLE), CASES[i].path);

		if (CASES[i].want == NULL)
			assert_null(r);
		else
			assert_string_equal(r != NULL ? r->pattern : "",
			    CASES[i].want);
	}
}

static void
queries_have_known_parameters_once(void **state)
{
	static const struct {
		const char *known, *query;
		const char *field; /* which is refused; NULL: none */
	} CASES[] = {
		{ "wait limit", "", NULL },
		{ "wait limit", "wait=1", NULL },
		{ "wait limit", "&wait=1&&limit=", NULL },
		{ "wait limit", "limit=wait=1", NULL },
		{ NULL, "", NULL },
		{ NULL, "wait=1", "wait" },
		{ "wait limit", "wai=1", "wai" },
		{ "wait limit", "waits=1", "waits" },
		{ "wait limit", "Wait=1", "Wait" },
		{ "wait limit", "wait limit=1", "wait limit" },
		{ "wait limit", "wait=1&x", "x" },
		{ "wait limit", "wait", "wait" },
		{ "wait limit", "wait=1&limit=2&wait=3", "wait" },
		{ "wait limit", "wait=1&wait=1", "wait" },
		{ "wait limit", "=1", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct route r = { .query = CASES[i].known };
		const char *params[] = { "QUERY_STRING", CASES[i].query, NULL };
		struct fake f = { .params = params };
		struct call c = fake_begin(&f, "GET", "/");
		struct err e = { 0 };
		int rc = router_check_query(&r, &c, &e);

		assert_int_equal(rc, CASES[i].field == NULL ? 0 : -1);
		if (rc < 0) {
			assert_int_equal(err_status(&e), 400);
			assert_string_equal(e.field, CASES[i].field);
		}
		fake_end(&f, &c);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(paths_find_their_rows),
		cmocka_unit_test(names_hold_what_they_matched),
		cmocka_unit_test(a_segment_that_is_too_long_matches_nothing),
		cmocka_unit_test(a_wrong_method_is_told_the_right_ones),
		cmocka_unit_test(a_slip_is_told_what_was_meant),
		cmocka_unit_test(queries_have_known_parameters_once),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
