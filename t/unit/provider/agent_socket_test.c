/* agent_socket_test.c: tests launching a wrapper, and its sockets for nginx. */
#include "agent_box.h"

#include <errno.h>
#include <sys/un.h>

#include "common/channel.h"

enum { PATH_SIZE = 256 };

static bool
has_socket(int64_t generation, int64_t port)
{
	char path[PATH_SIZE];

	agent_socket_path(&CONF, TARGET.session, generation, port, path,
	    sizeof(path));
	return access(path, F_OK) == 0;
}

static void
sockets_are_named_by_session_generation_and_port(void **state)
{
	static const struct conf C = { .run_dir = "/run/sl" };
	char path[PATH_SIZE];

	(void)state;
	agent_socket_path(&C, "abc", 7, 0, path, sizeof(path));
	assert_string_equal(path, "/run/sl/s/abc.7.sock");
	agent_socket_path(&C, "abc", 7, 8080, path, sizeof(path));
	assert_string_equal(path, "/run/sl/s/abc.7.8080.sock");
	agent_socket_path(&C, "abc", 7, AGENT_PORT_WS, path, sizeof(path));
	assert_string_equal(path, "/run/sl/s/abc.7.ws.sock");
}

static void
a_launch_leaves_the_sockets_that_nginx_needs(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    0);
	assert_true(has_socket(3, 0));
	assert_true(has_socket(3, 8080));
	assert_true(has_socket(3, 9090));
	assert_true(has_socket(3, AGENT_PORT_WS));
	agent_unlink_sockets(&CONF, TARGET.session, 2);
	assert_true(has_socket(3, 0));
	agent_unlink_sockets(&CONF, TARGET.session, 3);
	assert_false(has_socket(3, 0));
	assert_false(has_socket(3, 8080));
	assert_false(has_socket(3, AGENT_PORT_WS));
}

static void
an_agent_from_before_websockets_launches_without_them(void **state)
{
	struct err e = { 0 };

	(void)state;
	fake_old();
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    0);
	assert_true(has_socket(3, 0));
	assert_true(has_socket(3, 8080));
	assert_true(has_socket(3, 9090));
	assert_false(has_socket(3, AGENT_PORT_WS));
	assert_int_equal(fake_calls("agent.launch"), 2);
}

static void
a_refused_launch_leaves_no_socket(void **state)
{
	struct err e = { 0 };

	(void)state;
	fake_script("agent.launch", FAKE_FAIL, 1);
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    -1);
	assert_code(e.code, CODE_LAUNCH_FAILED);
	assert_false(has_socket(3, 0));
	assert_false(has_socket(3, 8080));
	assert_int_equal(fake_calls("agent.launch"), 1);
}

/* The launch opens the groups last, when its sockets exist already. */
static void
a_launch_without_groups_leaves_no_socket(void **state)
{
	struct err e = { 0 };

	(void)state;
	fake_script("cell_open", FAKE_FAIL, 1);
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    -1);
	assert_code(e.code, FAKE_CODE);
	assert_false(has_socket(3, 0));
	assert_false(has_socket(3, 8080));
	assert_int_equal(fake_calls("agent.launch"), 0);
}

static void
a_launch_whose_answer_was_lost_can_be_found(void **state)
{
	struct agent_wrappers found;
	struct err e = { 0 };

	(void)state;
	fake_script("agent.launch", FAKE_LOSE, 1);
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    -1);
	assert_code(e.code, CODE_PEER_CLOSED);
	assert_true(has_socket(3, 0));
	assert_int_equal(agent_look(&P, &TARGET, 0, soon(), &found, &e), 0);
	assert_int_equal(found.count, 1);
	/* and another launch does not replace it */
	assert_int_equal(agent_launch(&P, &BOX, &TARGET, &LAUNCH, soon(), &e),
	    -1);
	assert_code(e.code, CODE_ALREADY_RUNNING);
	assert_true(has_socket(3, 0));
}

static void
an_exposed_port_is_in_reach_until_it_is_taken_back(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(agent_launch(&P, &BOX, &TARGET,
			     &(struct agent_launch){ 0 }, soon(), &e),
	    0);
	assert_int_equal(agent_expose(&P, &TARGET, 5000, 2, soon(), &e), 0);
	assert_true(has_socket(3, 5000));
	assert_true(agent_exposes(&P, &TARGET, 5000, false));
	/* the relay has not agreed: the socket may be a newer change's */
	fake_script("agent.unexpose", FAKE_FAIL, 1);
	assert_int_equal(agent_unexpose(&P, &TARGET, 5000, 4, soon(), &e), -1);
	assert_true(has_socket(3, 5000));
	assert_int_equal(agent_unexpose(&P, &TARGET, 5000, 4, soon(), &e), 0);
	assert_false(has_socket(3, 5000));
	assert_false(agent_exposes(&P, &TARGET, 5000, false));
	fake_script("agent.expose", FAKE_FAIL, 1);
	assert_int_equal(agent_expose(&P, &TARGET, 5000, 6, soon(), &e), -1);
	assert_false(has_socket(3, 5000));
}

/* A new socket in its place would drop connections that wait in the queue. */
static void
a_relay_whose_queue_is_full_is_alive(void **state)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int listens = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int waiting[2];

	(void)state;
	agent_socket_path(&CONF, TARGET.session, 3, 5000, a.sun_path,
	    sizeof(a.sun_path));
	assert_int_equal(bind(listens, (const struct sockaddr *)&a, sizeof(a)),
	    0);
	assert_false(agent_exposes(&P, &TARGET, 5000, true));
	/* a queue of 0 holds one connection; the next one would have to wait */
	assert_int_equal(listen(listens, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++) {
		waiting[i] = socket(AF_UNIX,
		    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_int_equal(connect(waiting[i],
				     (const struct sockaddr *)&a, sizeof(a)),
		    i == 0 ? 0 : -1);
	}
	assert_int_equal(errno, EAGAIN);
	assert_true(agent_exposes(&P, &TARGET, 5000, true));
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		close(waiting[i]);
}

/* The other wrapper would be proved and used as the one in the row. */
static void
a_launch_of_another_wrapper_is_not_the_one_asked_for(void **state)
{
	static const struct {
		const char *reply;
		bool ours;
	} REPLIES[] = {
		{ "{\"ok\":true,\"instance\":\"iiiiiiiiiiiiiiii\","
		  "\"generation\":3}",
		    true },
		{ "{\"ok\":true,\"instance\":\"iiiiiiiiiiiiiiii\","
		  "\"generation\":4}",
		    false },
		{ "{\"ok\":true,\"instance\":\"jjjjjjjjjjjjjjjj\","
		  "\"generation\":3}",
		    false },
		{ "{\"ok\":true}", false },
	};
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	for (size_t i = 0; i < ARRAY_LEN(REPLIES); i++) {
		struct err e = { 0 };
		int rc;

		/* the last launch's sockets listen on, in an unread message */
		agent_unlink_sockets(&CONF, TARGET.session, INT64_MAX);
		CANNED = REPLIES[i].reply;
		rc = agent_launch(&p, &BOX, &TARGET, &LAUNCH, soon(), &e);
		if ((rc == 0) != REPLIES[i].ours)
			fail_msg("%s: %d %s", CANNED, rc, e.msg);
		if (rc < 0)
			assert_code(e.code, CODE_AGENT_ERROR);
	}
}

static const char *HOLDER;

static json_t *
held(const struct provider *p, const struct sandbox_spec *s)
{
	(void)p;
	return json_pack("{s:{s:I, s:s}, s:{s:I, s:s}}", "memoryMb", "value",
	    (json_int_t)s->memory_mb, "by", HOLDER, "pids", "value",
	    (json_int_t)s->pids, "by", HOLDER);
}

/* RLIMIT_NPROC counts siblings, too, so it is not set where a group counts. */
static void
a_cell_limits_itself_only_where_no_group_does(void **state)
{
	static const struct {
		const char *by;
		int64_t memory_mb, pids;
	} CASES[] = { { "cgroup", 0, 0 }, { "watchdog", 64, 100 },
		{ "rlimit", 0, 100 } };
	struct sandbox_spec box = BOX;
	struct provider_ops ops = PROVIDER_FAKE;
	struct provider p = { .ops = &ops, .conf = &CONF };

	(void)state;
	ops.open_channel = canned_control;
	ops.limits = held;
	box.pids = 100;
	CANNED = "{\"ok\":false}";
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_fds struct channel_fds fds = { 0 };
		auto_json json_t *said = NULL;
		struct err e = { 0 };

		HOLDER = CASES[i].by;
		assert_int_equal(
		    agent_launch(&p, &box, &TARGET, &LAUNCH, soon(), &e), -1);
		assert_int_equal(
		    channel_recv(THEIR_END, soon(), &said, &fds, &e), 0);
		assert_int_equal(json_integer_value(
				     json_object_get(said, "memoryMb")),
		    CASES[i].memory_mb);
		assert_int_equal(json_integer_value(
				     json_object_get(said, "pids")),
		    CASES[i].pids);
	}
}

#define test(f) cmocka_unit_test_setup_teardown(f, begin, finish)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		test(sockets_are_named_by_session_generation_and_port),
		test(a_launch_leaves_the_sockets_that_nginx_needs),
		test(an_agent_from_before_websockets_launches_without_them),
		test(a_refused_launch_leaves_no_socket),
		test(a_launch_without_groups_leaves_no_socket),
		test(a_launch_whose_answer_was_lost_can_be_found),
		test(an_exposed_port_is_in_reach_until_it_is_taken_back),
		test(a_relay_whose_queue_is_full_is_alive),
		test(a_launch_of_another_wrapper_is_not_the_one_asked_for),
		test(a_cell_limits_itself_only_where_no_group_does),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
