/*
 * port_world.c: tests that ports are intent, act and outcome, and that a lost
 * relay is made again.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "control/preview_control.h"
#include "control/relay_control.h"

enum { PORT = 8080 };

static int
expose(struct world *w, int64_t port, bool only_new, bool *created,
    struct err *e)
{
	const struct preview_options wish = { .port = port,
		.only_new = only_new };
	auto_json json_t *out = NULL;

	return preview_expose(&w->ctl, w->id, w->who.tenant, &wish, &out,
	    created, e);
}

static int
rotate(struct world *w, struct err *e)
{
	auto_json json_t *out = NULL;

	return preview_rotate(&w->ctl, w->id, w->who.tenant, PORT, &out, e);
}

static int
remove_port(struct world *w, bool *gone, struct err *e)
{
	return preview_remove(&w->ctl, w->id, w->who.tenant, PORT, gone, e);
}

/* Makes a session with a port that its relay serves. */
static void
begin(struct world *w)
{
	struct err e = { 0 };
	bool created;

	world_ready(w, ISOLATION_SESSION);
	SUCCEEDS(expose(w, PORT, false, &created, &e));
	assert_true(created);
}

/* "open", "pending", "cut" and "closing", as the row says; "": no row. */
static const char *
port_state(struct world *w)
{
	return world_ask(w,
	    "SELECT CASE WHEN closing_at IS NULL THEN 'open' ELSE 'closing' END"
	    " || CASE WHEN pending THEN ' pending' ELSE '' END"
	    " || CASE WHEN cut THEN ' cut' ELSE '' END FROM port");
}

static char *
token(struct world *w)
{
	return xstrdup(world_ask(w, "SELECT token_hash FROM port"));
}

static bool
has_socket(struct world *w)
{
	char path[256];
	int64_t generation =
	    strtoll(world_ask(w, "SELECT generation FROM lease"), NULL, 10);

	agent_socket_path(&w->conf, w->id, generation, PORT, path,
	    sizeof(path));
	return access(path, F_OK) == 0;
}

static void
lose_socket(struct world *w)
{
	char path[256];

	agent_socket_path(&w->conf, w->id, 1, PORT, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
}

/* ---- open, rotate, close */

static void
a_change_is_settled_when_its_relay_has_confirmed(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone, created;

	begin(w);
	assert_string_equal(port_state(w), "open");
	assert_true(has_socket(w));
	SUCCEEDS(expose(w, PORT, false, &created, &e));
	assert_false(created);
	assert_int_equal(fake_calls("agent.expose"), 1);
	FAILS(expose(w, PORT, true, &created, &e), CODE_PORT_ALREADY_EXPOSED);
	SUCCEEDS(rotate(w, &e));
	assert_string_equal(port_state(w), "open");
	assert_int_equal(fake_calls("agent.unexpose"), 1);
	assert_int_equal(fake_calls("agent.expose"), 2);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_true(gone);
	assert_string_equal(port_state(w), "");
	assert_false(has_socket(w));
	FAILS(remove_port(w, &gone, &e), CODE_PORT_NOT_EXPOSED);
	FAILS(rotate(w, &e), CODE_PORT_NOT_EXPOSED);
}

static void
what_a_silent_relay_was_not_told_the_reaper_tells_it(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool created, gone;

	world_ready(w, ISOLATION_SESSION);
	fake_script("agent.expose", FAKE_HANG, 1);
	FAILS(expose(w, PORT, false, &created, &e), CODE_TIMED_OUT);
	assert_string_equal(port_state(w), "open pending");
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(port_state(w), "open");
	fake_script("agent.unexpose", FAKE_HANG, 1);
	FAILS(rotate(w, &e), CODE_TIMED_OUT);
	assert_string_equal(port_state(w), "open pending cut");
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(port_state(w), "open");
	fake_script("agent.unexpose", FAKE_HANG, 2);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_false(gone); /* 202: the port is not closed yet */
	assert_string_equal(port_state(w), "closing pending");
	assert_int_equal(world_reap(w).errors, 1);
	assert_string_equal(port_state(w), "closing pending");
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(port_state(w), "");
}

static void
a_lost_answer_is_asked_for_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	begin(w);
	fake_script("agent.unexpose", FAKE_LOSE, 1);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_false(gone);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_true(gone);
	assert_string_equal(port_state(w), "");
}

static void
a_port_that_is_closing_can_be_exposed_and_is_another_one(void **state)
{
	struct world *w = *state;
	auto_free char *old = NULL;
	struct err e = { 0 };
	bool created, gone;

	begin(w);
	old = token(w);
	fake_script("agent.unexpose", FAKE_HANG, 1);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_false(gone);
	FAILS(rotate(w, &e), CODE_PORT_NOT_EXPOSED);
	SUCCEEDS(expose(w, PORT, true, &created, &e));
	assert_true(created);
	assert_string_equal(port_state(w), "open");
	assert_string_not_equal(world_ask(w, "SELECT token_hash FROM port"),
	    old);
	/* the open port was cut before it was opened again */
	assert_int_equal(fake_calls("agent.unexpose"), 2);
	assert_true(has_socket(w));
}

static void
an_expose_that_failed_is_a_first_try_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool created;

	world_ready(w, ISOLATION_SESSION);
	fake_script("agent.expose", FAKE_FAIL, 1);
	assert_int_equal(expose(w, PORT, true, &created, &e), -1);
	assert_string_equal(port_state(w), "closing pending");
	SUCCEEDS(expose(w, PORT, true, &created, &e));
	assert_true(created);
	assert_string_equal(port_state(w), "open");
}

/* ---- sessions that do not run */

static void
what_is_stopped_has_no_relay_to_be_asked(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone, created;

	begin(w);
	SUCCEEDS(
	    session_control_sleep(&w->ctl, w->id, "", "idle-timeout", -1, &e));
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_true(gone);
	assert_int_equal(fake_calls("agent.unexpose"), 0);
	SUCCEEDS(expose(w, PORT, false, &created, &e));
	assert_int_equal(fake_calls("agent.expose"), 1);
	SUCCEEDS(world_resume(w, &e));
	assert_true(has_socket(w));
	assert_string_equal(port_state(w), "open");
	/* closing when the session was stopped: the next pass sees it closed */
	fake_script("agent.unexpose", FAKE_HANG, 1);
	SUCCEEDS(remove_port(w, &gone, &e));
	assert_false(gone);
	SUCCEEDS(
	    session_control_sleep(&w->ctl, w->id, "", "idle-timeout", -1, &e));
	assert_string_equal(port_state(w), "closing pending");
	world_reap(w);
	assert_string_equal(port_state(w), "");
}

static void
a_start_that_another_finishes_has_its_relays(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	world_ask(w, "UPDATE session SET state = 'initializing'");
	lose_socket(w);
	SUCCEEDS(world_resume(w, &e));
	assert_true(has_socket(w));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

/* ---- expiry */

static void
another_changes_it(void *arg)
{
	world_ask(arg,
	    "UPDATE port SET change_order = change_order + 2, pending = true");
}

static int64_t
order_of(const char *op)
{
	return json_integer_value(json_object_get(fake_said(op), "order"));
}

/* A cut that is repeated after a crash closes no port that was opened since. */
static void
a_cut_comes_before_the_opening_it_is_for(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	SUCCEEDS(rotate(w, &e));
	assert_int_equal(fake_calls("agent.unexpose"), 1);
	assert_true(order_of("agent.unexpose") < order_of("agent.expose"));
}

/* The relay keeps the last message, so the row's state is sent again. */
static void
a_port_that_changed_meanwhile_is_told_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool created;

	world_ready(w, ISOLATION_SESSION);
	fake_meanwhile("agent.expose", another_changes_it, w);
	SUCCEEDS(expose(w, PORT, false, &created, &e));
	assert_string_equal(port_state(w), "open");
	assert_int_equal(fake_calls("agent.expose"), 2);
}

static void
a_relay_that_listens_is_not_made_again(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	int told;

	begin(w);
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	SUCCEEDS(world_resume(w, &e)); /* the relay listens on its socket */
	told = fake_calls("agent.expose");
	SUCCEEDS(relay_repair(&w->ctl, w->id, PORT, &e));
	assert_int_equal(fake_calls("agent.expose"), told);
}

/* The relay ended with its wrapper, so there is nothing left to close. */
static void
a_wrapper_that_is_gone_has_closed_its_ports(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool gone;

	for (int next = 0; next < 2; next++) {
		begin(w);
		fake_cell_die(w->box, w->id);
		if (next)
			fake_cell_add(w->box, w->id, "next", 2);
		SUCCEEDS(remove_port(w, &gone, &e));
		assert_true(gone);
	}
}

static void
a_port_waits_for_a_session_that_starts(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool created;

	fake_script("ensure", FAKE_LOSE, 1);
	FAILS(world_create(w, ISOLATION_SESSION, &e), CODE_TIMED_OUT);
	SUCCEEDS(expose(w, PORT, false, &created, &e));
	assert_int_equal(fake_calls("agent.expose"), 0);
	assert_string_equal(port_state(w), "open pending");
	SUCCEEDS(world_resume(w, &e));
	assert_string_equal(port_state(w), "open");
	assert_true(has_socket(w));
}

/* Counts sockets of ports from PORT on, when the next generation is proved. */
static void
count_ports(void *arg)
{
	struct world *w = arg;
	char path[256];
	int n = 0;

	for (;; n++) {
		agent_socket_path(&w->conf, w->id, 2, PORT + n, path,
		    sizeof(path));
		if (access(path, F_OK) < 0)
			break;
	}
	snprintf(w->text, sizeof(w->text), "%d", n);
}

static void
more_ports_than_a_launch_brings_are_open_before_it_is_ready(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };
	bool created;

	begin(w);
	for (int i = 1; i < AGENT_PORTS_MAX + 2; i++)
		SUCCEEDS(expose(w, PORT + i, false, &created, &e));
	SUCCEEDS(session_control_sleep(&w->ctl, w->id, "acme", "user-interrupt",
	    -1, &e));
	fake_meanwhile("agent.prove", count_ports, w);
	SUCCEEDS(world_resume(w, &e));
	assert_int_equal(strtol(w->text, NULL, 10), AGENT_PORTS_MAX + 2);
}

static void
an_expired_port_closes_as_others_do(void **state)
{
	struct world *w = *state;

	begin(w);
	world_ask(w, "UPDATE port SET expires_at = 'epoch'");
	fake_script("agent.unexpose", FAKE_HANG, 1);
	assert_int_equal(world_reap(w).errors, 1);
	assert_string_equal(port_state(w), "closing pending");
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(port_state(w), "");
}

/* ---- lost relays */

static void
a_lost_relay_is_made_again_by_a_pass(void **state)
{
	struct world *w = *state;

	begin(w);
	world_reap(w);
	assert_int_equal(fake_calls("agent.expose"), 1);
	lose_socket(w);
	assert_int_equal(world_reap(w).errors, 0);
	assert_true(has_socket(w));
	assert_int_equal(fake_calls("agent.expose"), 2);
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
}

static void
a_lost_relay_is_made_again_by_whoever_finds_it(void **state)
{
	struct world *w = *state;
	struct err e = { 0 };

	begin(w);
	lose_socket(w);
	SUCCEEDS(relay_repair(&w->ctl, w->id, PORT, &e));
	assert_true(has_socket(w));
	lose_socket(w);
	SUCCEEDS(world_resume(w, &e));
	assert_true(has_socket(w));
	assert_string_equal(world_state(w), "ready owns_wrapper 1 running");
	SUCCEEDS(relay_repair(&w->ctl, w->id, PORT + 1, &e));
}

/* ---- the pass's clock */

/* Each part of a pass has its share of time, also when another one hangs. */
static void
ports_that_hang_leave_time_for_the_rest_of_a_pass(void **state)
{
	/* wait: each costs 2 s, so all of them twice the time of the pass */
	enum { SESSIONS = 8, PASS_MS = 8000 };
	struct world *w = *state;
	struct pass p = { .ctl = &w->ctl };

	for (int i = 0; i < SESSIONS; i++)
		begin(w);
	world_ask(w, "UPDATE port SET expires_at = 'epoch'");
	fake_script("agent.unexpose", FAKE_HANG, SESSIONS);
	p.end_ms = clock_ms() + PASS_MS;
	parts_run(&p);
	assert_string_equal(world_ask(w,
				"SELECT count(*) > 0 FROM port WHERE tried_at"
				" IS NULL"),
	    "t");
	assert_int_equal(fake_calls("sweep"), 1);
	assert_string_equal(p.next, "");
}

static void
a_pass_begins_with_what_the_last_one_did_not_come_to(void **state)
{
	struct world *w = *state;
	struct pass p = { .ctl = &w->ctl };

	world_ready(w, ISOLATION_SESSION);
	world_ask(w, "UPDATE lease SET keep_warm_until = 'epoch'");
	fake_script("agent.seal", FAKE_HANG, 1);
	/* wait: the stop that hangs takes longer than the whole pass */
	p.end_ms = clock_ms() + 500;
	parts_run(&p);
	assert_string_equal(p.next, "deletions");
	assert_int_equal(fake_calls("sweep"), 0);
	world_ask(w,
	    "INSERT INTO reaper_run (host, started_at, duration_ms, scanned,"
	    " stopped, orphans, stuck, old, failures, summary) VALUES ('%s',"
	    " clock_timestamp(), 1, 0, 0, 0, 0, 0, 0, '{\"next\": \"trash\"}')",
	    w->conf.host_name);
	fake_script("agent.seal", FAKE_HANG, 1);
	world_make_due(w);
	/* wait: as above */
	p = (struct pass){ .ctl = &w->ctl, .end_ms = clock_ms() + 500 };
	parts_run(&p);
	world_ask(w, "DELETE FROM reaper_run");
	assert_int_equal(fake_calls("sweep"), 1);
	assert_string_equal(p.next, "deletions");
}

/* ---- revoked keys */

static void
what_a_revoked_key_opened_is_cut_even_if_it_takes_a_pass(void **state)
{
	struct world *w = *state;

	begin(w);
	world_ask(w, "SELECT tenant_cut('%s')", w->who.tenant);
	assert_string_equal(port_state(w), "open pending cut");
	fake_script("agent.ws_bounce", FAKE_HANG, 1);
	assert_int_equal(world_reap(w).errors, 0);
	assert_string_equal(port_state(w), "open");
	assert_int_equal(fake_calls("agent.unexpose"), 1);
	assert_int_equal(world_reap(w).errors, 0);
	assert_int_equal(fake_calls("agent.ws_bounce"), 2);
	world_reap(w);
	assert_int_equal(fake_calls("agent.ws_bounce"), 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(a_change_is_settled_when_its_relay_has_confirmed),
		WORLD_TEST(
		    what_a_silent_relay_was_not_told_the_reaper_tells_it),
		WORLD_TEST(a_lost_answer_is_asked_for_again),
		WORLD_TEST(
		    a_port_that_is_closing_can_be_exposed_and_is_another_one),
		WORLD_TEST(an_expose_that_failed_is_a_first_try_again),
		WORLD_TEST(what_is_stopped_has_no_relay_to_be_asked),
		WORLD_TEST(a_start_that_another_finishes_has_its_relays),
		WORLD_TEST(a_cut_comes_before_the_opening_it_is_for),
		WORLD_TEST(a_port_that_changed_meanwhile_is_told_again),
		WORLD_TEST(a_relay_that_listens_is_not_made_again),
		WORLD_TEST(a_wrapper_that_is_gone_has_closed_its_ports),
		WORLD_TEST(a_port_waits_for_a_session_that_starts),
		WORLD_TEST(
		    more_ports_than_a_launch_brings_are_open_before_it_is_ready),
		WORLD_TEST(an_expired_port_closes_as_others_do),
		WORLD_TEST(a_lost_relay_is_made_again_by_a_pass),
		WORLD_TEST(a_lost_relay_is_made_again_by_whoever_finds_it),
		WORLD_TEST(ports_that_hang_leave_time_for_the_rest_of_a_pass),
		WORLD_TEST(
		    a_pass_begins_with_what_the_last_one_did_not_come_to),
		WORLD_TEST(
		    what_a_revoked_key_opened_is_cut_even_if_it_takes_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
