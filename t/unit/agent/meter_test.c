/* meter_test.c: tests reading the meters of an attempt. */
#include "t/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/attempt/journal.h"
#include "agent/attempt/meter.h"
#include "common/mem.h"

/* The text of memory.events in v2. */
#define EVENTS "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 9\n"

static void
numbers_are_found_by_their_key(void **state)
{
	static const struct {
		const char *text, *key;
		int64_t want;
	} CASES[] = {
		{ "1234\n", "", 1234 },
		{ "", "", -1 },
		{ "max\n", "", -1 },
		{ EVENTS, "oom_kill", 2 },
		{ EVENTS, "oom", 3 },
		{ EVENTS, "low", 0 },
		{ EVENTS, "oom_group_kill", 9 },
		{ EVENTS, "kill", -1 },
		{ EVENTS, "oom_kill_disable", -1 },
		{ "oom_kill", "oom_kill", -1 },
		{ "oom_kill \n", "oom_kill", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(meter_parse(CASES[i].text, CASES[i].key),
		    CASES[i].want);
}

static int
file_of(const char *text)
{
	int fd = memfd_create("meter", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void
the_message_says_what_each_file_is(void **state)
{
	auto_json json_t *msg = json_pack(
	    "{s:i, s:[{s:s, s:s, s:i}, {s:s, s:s, s:i}, {s:s, s:s, s:i}]}",
	    "joins", 1, "meters", "what", "oomKills", "key", "oom_kill", "part",
	    1, "what", "cpuUserUs", "key", "", "part", 1000, "what",
	    "cpuSystemUs", "key", "", "part", 1000);
	struct channel_fds fds = { .fd = { file_of("{}"), file_of(""),
				       file_of(EVENTS), file_of("5000000"),
				       file_of("7000") },
		.count = 5 };
	struct attempt_meters m;
	struct meter_now now;
	struct attempt_usage used = { 0 };
	struct rusage r = { .ru_oublock = 4, .ru_maxrss = 1 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(meters_read(msg, &fds, &m, &e), 0);
	assert_int_equal(m.join_count, 1);
	assert_int_equal(meters_oom_kills(&m), 2);
	meters_look(&m, getpid(), &now);
	assert_int_equal(now.cpu_us, 5007);
	assert_int_equal(now.oom_kills, 2);
	/* no file tells the memory: the processes do */
	assert_true(now.memory > 0 && now.processes >= 1);
	meters_usage(&m, &r, &used);
	assert_int_equal(used.cpu_user_us, 5000);
	assert_int_equal(used.cpu_system_us, 7);
	assert_int_equal(used.written, 4 * 512);
	assert_int_equal(used.memory_peak, now.memory);
	meters_close(&m);
	assert_int_equal(meters_oom_kills(&m), 0);
	channel_fds_close(&fds);
}

static void
descriptors_that_are_missing_are_an_error(void **state)
{
	static const char *const MESSAGES[] = { "{\"joins\": 1}",
		"{\"joins\": 5}", "{\"joins\": -1}",
		"{\"meters\": [{\"what\": \"procs\", \"part\": 1}]}",
		"{\"meters\": [{\"what\": \"x\", \"part\": 1}]}",
		"{\"meters\": [{\"what\": \"procs\", \"part\": 0}]}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(MESSAGES); i++) {
		auto_json json_t *msg = json_loads(MESSAGES[i], 0, NULL);
		struct channel_fds fds = { .fd = { file_of("{}") },
			.count = 1 };
		struct attempt_meters m;
		struct err e = { 0 };

		assert_int_equal(meters_read(msg, &fds, &m, &e), -1);
		meters_close(&m);
		channel_fds_close(&fds);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_by_their_key),
		cmocka_unit_test(the_message_says_what_each_file_is),
		cmocka_unit_test(descriptors_that_are_missing_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
