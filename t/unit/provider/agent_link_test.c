/* agent_link_test.c: tests how an agent's answers and silence are read. */
#include "agent_box.h"

#include "common/str.h"
#include "provider/link/disk_usage.h"

/* wait: BRIEFLY is for an agent that never answers */
enum { BRIEFLY_MS = 50 };

static void
silence_ends_at_the_deadline(void **state)
{
	struct agent_wrappers found;
	struct err e = { 0 };

	(void)state;
	fake_script("agent.look", FAKE_HANG, 1);
	assert_int_equal(agent_look(&P, &TARGET, 0, clock_ms() + BRIEFLY_MS,
			     &found, &e),
	    -1);
	assert_code(e.code, CODE_TIMED_OUT);
	assert_true(err_retryable(&e));
}

static void
an_old_incarnation_reaches_nobody(void **state)
{
	struct agent_target t = TARGET;
	struct agent_wrappers found;
	struct err e = { 0 };

	(void)state;
	t.incarnation[0] = 'b';
	assert_int_equal(agent_look(&P, &t, 0, soon(), &found, &e), -1);
	assert_code(e.code, CODE_NOT_LISTENING);
}

static void
a_wrapper_of_another_generation_is_not_asked(void **state)
{
	struct agent_target t = TARGET;
	struct agent_status status;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_status(&P, &t, soon(), &status, &e), -1);
	assert_code(e.code, CODE_WRAPPER_UNAVAILABLE);
	assert_int_equal(err_status(&e), 503);
	assert_int_equal(agent_launch(&P, &BOX, &t, &LAUNCH, soon(), &e), 0);
	t.generation = 2;
	assert_int_equal(agent_status(&P, &t, soon(), &status, &e), -1);
	assert_code(e.code, CODE_STALE_GENERATION);
}

static void
a_status_is_read_field_by_field(void **state)
{
	const struct agent_status want = { .busy = true,
		.running = 1,
		.streams = 2,
		.relays = 3,
		.idle_ms = 4 };
	struct agent_status got;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    0);
	fake_status(&want);
	assert_int_equal(agent_status(&P, &TARGET, soon(), &got, &e), 0);
	assert_true(got.busy);
	assert_int_equal(got.running, 1);
	assert_int_equal(got.streams, 2);
	assert_int_equal(got.relays, 3);
	assert_int_equal(got.idle_ms, 4);
}

/* The figures are added up and become times, which the database must accept. */
static void
figures_beyond_reason_are_not_believed(void **state)
{
	static const struct agent_status WILD[] = {
		{ .idle_ms = INT64_MAX },
		{ .relay_idle_ms = INT64_MAX },
		{ .quiet_ms = INT64_MAX },
		{ .cpu_ms = INT64_MAX },
		{ .limit_ms = INT64_MAX },
		{ .limit_ms = -1 },
	};
	static const int64_t BYTES[] = { -1, INT64_MAX };
	struct agent_status got;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    0);
	for (size_t i = 0; i < ARRAY_LEN(WILD); i++) {
		fake_status(&WILD[i]);
		assert_int_equal(agent_status(&P, &TARGET, soon(), &got, &e),
		    -1);
		assert_code(e.code, CODE_AGENT_ERROR);
	}
	for (size_t i = 0; i < ARRAY_LEN(BYTES); i++) {
		auto_free struct agent_disk_usage *u = NULL;
		size_t count;

		fake_usage(TARGET.session, BYTES[i], 0);
		assert_int_equal(agent_disk_usage(&P, BOX.id, BOX.incarnation,
				     soon(), &u, &count, &e),
		    -1);
		assert_code(e.code, CODE_AGENT_ERROR);
	}
}

/* Sends SIGTERM, as a wave does. */
static bool
term(void)
{
	struct agent_one one = { .target = TARGET }, *who = &one;

	agent_ask_all(&P, AGENT_TERM, 0, soon(), &who, 1);
	return one.answered;
}

static void
env_and_files_are_delivered(void **state)
{
	auto_json json_t *env = json_pack("{s:s, s:n}", "A", "b", "C");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    0);
	assert_int_equal(agent_env(&P, &TARGET, env, false, soon(), &e), 0);
	assert_int_equal(agent_write(&P, &TARGET, "/workspace/x", 0644, "x", 1,
			     soon(), &e),
	    0);
	assert_int_equal(agent_prove(&P, &TARGET, soon(), &e), 0);
	assert_true(term());
	/* a path that is not UTF-8 cannot be sent, and nothing crashes */
	assert_int_equal(
	    agent_write(&P, &TARGET, "/\xff", 0644, "x", 1, soon(), &e), -1);
	assert_code(e.code, CODE_INTERNAL);
}

/* ---- an agent that answers anything */

/* One wrapper more than the answer to a look has room for. */
#define ONE "{\"instance\":\"i\",\"generation\":1}"
#define FOUR ONE "," ONE "," ONE "," ONE ","
_Static_assert(AGENT_WRAPPERS_MAX == 16, "four times FOUR");

static const struct {
	const char *reply;
	enum err_code code;
} HOSTILE[] = {
	/* the agent is to blame for these, not the sender of the request */
	{ "{", CODE_AGENT_ERROR },
	{ "[]", CODE_AGENT_ERROR },
	{ "{}", CODE_AGENT_ERROR },
	{ "{\"ok\":1}", CODE_AGENT_ERROR },
	{ "{\"ok\":false}", CODE_AGENT_ERROR },
	{ "{\"ok\":false,\"code\":\"stale_generation\"}",
	    CODE_STALE_GENERATION },
	{ "{\"ok\":false,\"code\":\"wrong_incarnation\"}",
	    CODE_STALE_INCARNATION },
	{ "{\"ok\":false,\"code\":{},\"message\":[]}", CODE_AGENT_ERROR },
	{ "{\"ok\":true}", CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":{}}", CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":[1]}", CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":[{\"instance\":\"i\"}]}",
	    CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":[{\"instance\":\"i\",\"generation\":-1}]}",
	    CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":[{\"instance\":"
	  "\"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii\",\"generation\":1}]}",
	    CODE_AGENT_ERROR },
	{ "{\"ok\":true,\"wrappers\":[" FOUR FOUR FOUR FOUR ONE "]}",
	    CODE_AGENT_ERROR },
};

static void
an_answer_that_is_nonsense_is_not_an_empty_look(void **state)
{
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	for (size_t i = 0; i < ARRAY_LEN(HOSTILE); i++) {
		struct agent_wrappers found;
		struct err e = { 0 };

		CANNED = HOSTILE[i].reply;
		if (agent_look(&p, &TARGET, 0, soon(), &found, &e) == 0)
			fail_msg("%s: was believed", CANNED);
		if (e.code != HOSTILE[i].code)
			fail_msg("%s: %s", CANNED, code_word(e.code));
	}
}

/* Neither a list of cells nor one of their disk usage. */
static void
an_answer_that_is_nonsense_is_no_list(void **state)
{
	static const char *const NONSENSE[] = {
		"{\"ok\":true}",
		"{\"ok\":true,\"cells\":{}}",
		"{\"ok\":true,\"cells\":[1]}",
		"{\"ok\":true,\"cells\":[{}]}",
		"{\"ok\":true,\"cells\":[{\"session\":\"../../../../etc/passwd\","
		"\"instance\":\"i\",\"generation\":1,\"bytes\":1}]}",
		"{\"ok\":true,\"cells\":[{\"session\":\"CCCCCCCCCCCCCCCCCCCC\","
		"\"instance\":\"i\",\"generation\":1,\"bytes\":1}]}",
		"{\"ok\":true,\"cells\":[{\"session\":\"cccccccccccccccccccc\","
		"\"instance\":1,\"generation\":0,\"bytes\":\"1\"}]}",
	};
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	for (size_t i = 0; i < ARRAY_LEN(NONSENSE); i++) {
		auto_free struct agent_disk_usage *usage = NULL;
		auto_free struct agent_cell *cells = NULL;
		struct agent_cells list = { 0 };
		struct err e = { 0 };
		size_t count;

		CANNED = NONSENSE[i];
		agent_cells_all(&p, soon(), &list, 1);
		cells = list.cells;
		if (list.answered ||
		    agent_disk_usage(&p, "s", "i", soon(), &usage, &count,
			&e) == 0)
			fail_msg("%s: was believed", CANNED);
		assert_code(list.e.code, CODE_AGENT_ERROR);
		assert_code(e.code, CODE_AGENT_ERROR);
	}
}

static void
more_cells_than_a_sandbox_has_room_for_are_no_list(void **state)
{
	auto_buf struct buf text = { 0 };
	auto_free struct agent_disk_usage *usage = NULL;
	auto_free struct agent_cell *cells = NULL;
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };
	struct agent_cells list = { 0 };
	struct err e = { 0 };
	size_t count;

	(void)state;
	ops.open_channel = canned_control;
	buf_str(&text, "{\"ok\":true,\"cells\":[");
	for (int i = 0; i <= AGENT_CELLS_MAX; i++)
		buf_fmt(&text,
		    "%s{\"session\":\"cccccccccccccccccccc\",\"instance\":\"i\","
		    "\"generation\":1,\"bytes\":1}",
		    i > 0 ? "," : "");
	buf_str(&text, "]}");
	CANNED = text.data;
	agent_cells_all(&p, soon(), &list, 1);
	cells = list.cells;
	assert_false(list.answered);
	assert_int_equal(
	    agent_disk_usage(&p, "s", "i", soon(), &usage, &count, &e), -1);
	assert_code(e.code, CODE_AGENT_ERROR);
}

static void
the_words_of_an_agent_are_made_harmless(void **state)
{
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };
	struct agent_wrappers found;
	struct err e = { 0 };

	(void)state;
	ops.open_channel = canned_control;
	CANNED =
	    "{\"ok\":false,\"code\":\"x\\ny\",\"message\":\"a\\nb\\u001bc\"}";
	assert_int_equal(agent_look(&p, &TARGET, 0, soon(), &found, &e), -1);
	assert_string_equal(e.msg, "the agent refused with \"x y\": a b c");
}

/* The second is a known code, but none with which an agent refuses. */
static void
a_code_that_no_agent_of_this_release_says_is_kept_for_people(void **state)
{
	static const char *const CODES[] = { "from_the_future", "usage" };
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
		auto_free char *reply = xasprintf(
		    "{\"ok\":false,\"code\":\"%s\",\"message\":\"no\"}",
		    CODES[i]);
		auto_free char *told =
		    xasprintf("the agent refused with \"%s\": no", CODES[i]);
		struct agent_wrappers found;
		struct err e = { 0 };

		CANNED = reply;
		assert_int_equal(agent_look(&p, &TARGET, 0, soon(), &found, &e),
		    -1);
		assert_code(e.code, CODE_AGENT_ERROR);
		assert_int_equal(e.kind, ERR_BAD_GATEWAY);
		assert_string_equal(e.msg, told);
	}
}

/* A call may be repeated when its wrapper is ending or just beginning. */
static void
a_wrapper_that_takes_no_message_is_known_as_one(void **state)
{
	static const enum err_code CODES[] = { CODE_NOT_SERVING,
		CODE_WRAPPER_UNRESPONSIVE };
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	for (size_t i = 0; i < ARRAY_LEN(CODES); i++) {
		auto_free char *reply = xasprintf(
		    "{\"ok\":false,\"code\":\"%s\",\"message\":\"no\"}",
		    code_word(CODES[i]));
		struct agent_status st;
		struct err e = { 0 };

		CANNED = reply;
		assert_int_equal(agent_status(&p, &TARGET, soon(), &st, &e),
		    -1);
		assert_code(e.code, CODES[i]);
		assert_true(err_retryable(&e));
	}
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(silence_ends_at_the_deadline),
		test(an_old_incarnation_reaches_nobody),
		test(a_wrapper_of_another_generation_is_not_asked),
		test(a_status_is_read_field_by_field),
		test(figures_beyond_reason_are_not_believed),
		test(env_and_files_are_delivered),
		test(an_answer_that_is_nonsense_is_not_an_empty_look),
		test(an_answer_that_is_nonsense_is_no_list),
		test(more_cells_than_a_sandbox_has_room_for_are_no_list),
		test(the_words_of_an_agent_are_made_harmless),
		test(
		    a_code_that_no_agent_of_this_release_says_is_kept_for_people),
		test(a_wrapper_that_takes_no_message_is_known_as_one),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
