/* pump_test.c: tests that a slow reader gets the whole output of a command. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/run/pump.h"
#include "common/mem.h"

/* wait: longer than a drain lasts; a longer time changes nothing */
enum { HELD = 65536, SLOW_MS = 150 };

struct reader {
	size_t bytes;
};

static void
slow(void *ctx, int which, const char *data, size_t len)
{
	struct reader *r = ctx;
	struct timespec t = { .tv_nsec = SLOW_MS * 1000000L };

	(void)data;
	assert_int_equal(which, 0);
	r->bytes += len;
	nanosleep(&t, NULL); /* wait: see SLOW_MS */
}

static void
a_slow_reader_loses_nothing(void **state)
{
	auto_free char *block = calloc(1, HELD);
	struct reader r = { 0 };
	struct pump p = { .out = { -1, -1 }, .output = slow, .output_ctx = &r };
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], block, HELD), HELD);
	p.out[0] = ends[0];
	pump_drain(&p);
	assert_int_equal(r.bytes, HELD);
	close(ends[0]);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_reader_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
