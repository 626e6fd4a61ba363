/* suspend_world.c: tests changes while a session is frozen or thawed. */
#include "world.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "control/preview_control.h"
#include "control/suspend.h"

static struct provider_ops OPS; /* the fake's, with suspend and resume */
static int THAWS;
static bool OVERTAKEN; /* the next order arrives after a newer one */

static int
obey(struct err *e)
{
	if (!OVERTAKEN)
		return 0;
	OVERTAKEN = false;
	return err_set(e, ERR_CONFLICT, CODE_STALE_ORDER, "it was overtaken");
}

static int
freeze(const struct provider *p, const struct agent_target *t, int64_t order,
    int64_t deadline_ms, struct err *e)
{
	(void)p, (void)t, (void)order, (void)deadline_ms;
	return obey(e);
}

static int
thaw(const struct provider *p, const struct agent_target *t, int64_t order,
    int64_t deadline_ms, struct err *e)
{
	(void)p, (void)t, (void)order, (void)deadline_ms;
	THAWS++;
	return obey(e);
}

/* Makes a session that is frozen. */
static void
begin(struct world *w)
{
	struct err e = { 0 };

	OPS = PROVIDER_FAKE;
	OPS.suspend = freeze;
	OPS.resume = thaw;
	w->ctl.provider.ops = &OPS;
	THAWS = 0;
	world_ready(w, ISOLATION_SHARED);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    1, &e));
	assert_string_equal(world_state(w), "asleep owns_wrapper 1 running");
}

static void
what_is_suspended_goes_on(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(THAWS, 1);
	/* of many callers, the later ones find the session thawed */
	SUCCEEDS(suspend_resume(&w->ctl, w->id, &e));
	assert_int_equal(THAWS, 1);
	assert_int_equal(fake_calls("agent.launch"), 1);
}

static void
another_stops_it(void *arg)
{
	struct world *w = arg;

	world_ask(w,
	    "SELECT session_request_stop(id, 'sleep',"
	    " '{\"reason\": \"user-interrupt\"}') FROM session");
}

static void
what_was_stopped_while_it_went_on_is_started_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	fake_meanwhile("agent.prove", another_stops_it, w);
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 2 running");
}

/* Another worker's newer order was carried out, so the wrapper is healthy. */
static void
an_order_that_was_overtaken_stops_nothing(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	OVERTAKEN = true;
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	assert_int_equal(THAWS, 2);
	assert_int_equal(fake_calls("agent.seal"), 0);
	/* nor does an overtaken order to freeze */
	OVERTAKEN = true;
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    1, &e));
	assert_string_equal(world_state(w), "sleeping owns_wrapper 1 running");
	assert_int_equal(fake_calls("agent.seal"), 0);
}

static void
a_port_that_changed_meanwhile_is_told_when_it_goes_on(void **state)
{
	static const char PENDING[] = "SELECT pending FROM port";
	const struct preview_options wish = { .port = 8080 };
	struct world *w = *state;
	auto_json json_t *out = NULL;
	struct err e = { 0 };
	bool created;

	begin(w);
	fake_script("agent.expose", FAKE_HANG, 1);
	SUCCEEDS(
	    preview_expose(&w->ctl, w->id, "acme", &wish, &out, &created, &e));
	assert_string_equal(world_ask(w, "%s", PENDING), "t");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(world_ask(w, "%s", PENDING), "f");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(what_is_suspended_goes_on),
		WORLD_TEST(what_was_stopped_while_it_went_on_is_started_again),
		WORLD_TEST(an_order_that_was_overtaken_stops_nothing),
		WORLD_TEST(
		    a_port_that_changed_meanwhile_is_told_when_it_goes_on),
	};

	return cmocka_run_group_tests_name("suspend", tests, NULL, NULL);
}
