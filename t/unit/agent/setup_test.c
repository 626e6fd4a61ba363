/* setup_test.c: tests that a setup runs once, and all get the same result. */
#include "t/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/api/setup.h"
#include "common/mem.h"

static int
file(const char *text)
{
	int fd = memfd_create("setup", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static json_t *
ask(int fd, int64_t offset)
{
	const struct setup_question q = { .fd = fd,
		.timeout_ms = PATIENCE_MS,
		.offset = offset,
		.wait_ms = PATIENCE_MS };
	json_t *reply = json_object();
	struct err e = { 0 };

	assert_int_equal(setup_ask(&q, reply, &e), 0);
	return reply;
}

static int64_t
number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* Reads the whole output, returns its length; *last is the final reply. */
static size_t
hear(int fd, json_t **last)
{
	int64_t offset = 0;
	size_t heard = 0;

	for (;;) {
		json_t *reply = ask(fd, offset);

		if (json_is_true(json_object_get(reply, "done"))) {
			*last = reply;
			return heard;
		}
		heard += strlen(json_str(reply, "output"));
		assert_true(number(reply, "offset") > offset);
		offset = number(reply, "offset");
		json_decref(reply);
	}
}

static void
it_runs_once_and_its_beginning_and_end_are_kept(void **state)
{
	auto_fd int none = file(""), nul = memfd_create("setup", MFD_CLOEXEC);
	auto_fd int first =
	    file("for i in $(seq 10000); do echo 123456789; done;"
		 " printf 'a\\0z'; exit 3");
	auto_fd int second = file("exit 4");
	struct setup_question q = { .fd = -1 };
	auto_json json_t *end = NULL, *again = NULL, *before = json_object();
	struct err e = { 0 };
	const char *tail;

	(void)state;
	assert_int_equal(setup_ask(&q, before, &e), 0);
	assert_false(json_is_true(json_object_get(before, "begun")));
	assert_int_equal(write(nul, "a\0b", 3), 3);
	q.fd = none;
	assert_int_equal(setup_ask(&q, before, &e), -1);
	q.fd = nul;
	assert_int_equal(setup_ask(&q, before, &e), -1);

	assert_int_equal(hear(first, &end), SETUP_HEAD_MAX);
	assert_int_equal(number(end, "exitCode"), 3);
	assert_int_equal(number(end, "bytes"), 100003);
	tail = json_str(end, "output");
	assert_int_equal(strlen(tail), SETUP_TAIL_MAX);
	assert_string_equal(tail + SETUP_TAIL_MAX - 4, "\na?z");

	assert_int_equal(hear(second, &again), SETUP_HEAD_MAX);
	assert_int_equal(json_equal(end, again), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    it_runs_once_and_its_beginning_and_end_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
