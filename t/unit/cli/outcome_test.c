/* outcome_test.c: tests the explanation of a failed HTTP call, for people. */
#include "t/unit/unit.h"

#include <string.h>

#include "cli/http/outcome.h"
#include "common/code.h"
#include "common/mem.h"

#define SERVICE "https://box.example"

/* The explanation of a call's outcome; "" when the call was successful. */
static const char *
explained(struct outcome o, const char *answer, struct err *e)
{
	auto_buf struct buf text = { 0 };

	buf_str(&text, answer);
	o.service = o.service != NULL ? o.service : SERVICE;
	o.path = "/v1/me";
	o.answer = &text;
	o.why = o.why != NULL ? o.why : "curl's words";
	*e = (struct err){ 0 };
	return outcome_explain(&o, e) < 0 ? e->msg : "";
}

static void
an_answer_is_success_or_says_why_not(void **state)
{
	static const struct {
		long status;
		bool elsewhere;
		const char *answer;
		enum err_code code;
		const char *says; /* NULL: success */
	} CASES[] = {
		{ 200, false, "{}", CODE_NONE, NULL },
		{ 204, false, "", CODE_NONE, NULL },
		{ 304, true, "", CODE_NONE, NULL },
		{ 302, false, "", CODE_REDIRECTED,
		    SERVICE " answers 302 to GET /v1/me" },
		{ 101, false, "", CODE_REDIRECTED, "answers 101" },
		{ 404, false, "{\"detail\": \"no such\", \"code\": \"x\"}",
		    CODE_REFUSED, "no such (404 x)" },
		{ 409, false, "{\"message\": \"busy\"}", CODE_REFUSED,
		    "busy (409)" },
		{ 404, true, "{\"error\": \"no preview\"}", CODE_REFUSED,
		    "no preview (404)" },
		{ 401, false, "{\"detail\": \"who?\"}", CODE_REFUSED,
		    "does not take this API key" },
		{ 400, false, "<html>sent to HTTPS port</html>", CODE_REFUSED,
		    "wants TLS" },
		{ 404, false, "<html></html>", CODE_REFUSED,
		    "not as a Sandlease service does" },
		{ 502, false, "<html></html>", CODE_REFUSED,
		    "refused without a reason (502)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e;
		const char *said =
		    explained((struct outcome){ .status = CASES[i].status,
				  .ours = !CASES[i].elsewhere },
			CASES[i].answer, &e);

		assert_int_equal(e.code, CASES[i].code);
		if (CASES[i].says == NULL)
			assert_string_equal(said, "");
		else
			assert_non_null(strstr(said, CASES[i].says));
	}
}

static void
a_refusal_keeps_code_and_context(void **state)
{
	struct err e;

	(void)state;
	explained((struct outcome){ .status = 409, .ours = true },
	    "{\"detail\": \"full\", \"code\": \"input_full\","
	    " \"context\": {\"written\": 7}}",
	    &e);
	assert_string_equal(e.field, "input_full");
	assert_non_null(strstr(e.more, "\"written\""));
}

static void
a_path_in_the_url_is_asked_about(void **state)
{
	struct outcome o = { .status = 404, .ours = true };
	struct err e;

	(void)state;
	assert_null(strstr(explained(o, "{\"detail\": \"no\"}", &e), "a path"));
	o.service = SERVICE "/api";
	assert_non_null(
	    strstr(explained(o, "{\"detail\": \"no\"}", &e), "a path"));
}

static void
without_an_answer_curl_says_why(void **state)
{
	static const struct {
		CURLcode rc, step;
		bool elsewhere;
		const char *why;
		enum err_code code;
		const char *says;
	} CASES[] = {
		{ CURLE_COULDNT_CONNECT, CURLE_COULDNT_CONNECT, false, NULL,
		    CODE_UNREACHABLE, "is SANDLEASE_URL right?" },
		{ CURLE_OPERATION_TIMEDOUT, CURLE_COULDNT_CONNECT, false, NULL,
		    CODE_BROKEN, "does not answer" },
		{ CURLE_OPERATION_TIMEDOUT, CURLE_COULDNT_CONNECT, true, NULL,
		    CODE_UNREACHABLE, "http://else: curl's words" },
		{ CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_HOST, true,
		    NULL, CODE_UNRESOLVED, "the host has no address" },
		{ CURLE_PEER_FAILED_VERIFICATION,
		    CURLE_PEER_FAILED_VERIFICATION, false, NULL, CODE_UNTRUSTED,
		    "cannot be trusted" },
		{ CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CONNECT_ERROR, false,
		    "wrong version number", CODE_UNTRUSTED,
		    "does not speak TLS" },
		{ CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CONNECT_ERROR, false, NULL,
		    CODE_UNTRUSTED, "no secure connection" },
		{ CURLE_GOT_NOTHING, CURLE_GOT_NOTHING, false, NULL,
		    CODE_BROKEN, SERVICE ": curl's words" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e;
		const char *said =
		    explained((struct outcome){ .rc = CASES[i].rc,
				  .step = CASES[i].step,
				  .ours = !CASES[i].elsewhere,
				  .url = "http://else",
				  .why = CASES[i].why },
			"", &e);

		assert_int_equal(e.code, CASES[i].code);
		assert_non_null(strstr(said, CASES[i].says));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_success_or_says_why_not),
		cmocka_unit_test(a_refusal_keeps_code_and_context),
		cmocka_unit_test(a_path_in_the_url_is_asked_about),
		cmocka_unit_test(without_an_answer_curl_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
