/*
 * poller_test.c: tests epoll, and poll() for files that epoll refuses.
 *
 * epoll refuses regular files, as it refuses everything once the user's watches
 * are used up; poll() reports regular files as always ready.
 */
#include "../unit.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/poller.h"

enum { MANY = 40, BATCH = 8 };

static struct poller P;

static int
set_up(void **state)
{
	(void)state;
	return poller_open(&P);
}

static int
tear_down(void **state)
{
	(void)state;
	poller_close(&P);
	return 0;
}

static int
ready_file(void)
{
	int fd = memfd_create("poller", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Events of one wait, as bits; each event's data is the number of its bit. */
static unsigned
told(int timeout_ms)
{
	struct epoll_event ev[BATCH];
	int n = poller_wait(&P, ev, BATCH, timeout_ms, NULL);
	unsigned bits = 0;

	for (int i = 0; i < n; i++) {
		assert_true((ev[i].events & (EPOLLIN | EPOLLHUP)) != 0);
		bits |= 1U << (uintptr_t)ev[i].data.ptr;
	}
	return bits;
}

static void *
number(uintptr_t n)
{
	return (void *)n;
}

static void
what_epoll_refuses_is_told_beside_the_rest(void **state)
{
	int pipes[2], file = ready_file();

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(poller_add(&P, pipes[0], EPOLLIN, number(1)), 0);
	assert_int_equal(told(0), 0);
	assert_int_equal(poller_add(&P, file, EPOLLIN, number(2)), 0);
	assert_int_equal(P.count, 1);
	assert_int_equal(told(-1), 1U << 2);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(told(-1), 1U << 1 | 1U << 2);
	/* a change works for both kinds */
	assert_int_equal(poller_change(&P, file, 0, number(2)), 0);
	assert_int_equal(told(-1), 1U << 1);
	assert_int_equal(poller_change(&P, pipes[0], 0, number(1)), 0);
	assert_int_equal(told(0), 0);
	assert_int_equal(poller_change(&P, file, EPOLLIN, number(3)), 0);
	assert_int_equal(told(-1), 1U << 3);
	/* and a removed file gives no event */
	poller_remove(&P, file);
	assert_int_equal(P.count, 0);
	assert_int_equal(told(0), 0);
	poller_remove(&P, pipes[0]);
	close(pipes[0]);
	close(pipes[1]);
	close(file);
}

static void
none_of_many_is_forgotten(void **state)
{
	int fds[MANY], pipes[2];
	unsigned char seen[MANY + 1] = { 0 };
	size_t count = 0;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(poller_add(&P, pipes[0], EPOLLIN, number(MANY)), 0);
	for (uintptr_t i = 0; i < MANY; i++) {
		fds[i] = ready_file();
		assert_int_equal(poller_add(&P, fds[i], EPOLLIN, number(i)), 0);
	}
	/* all are ready all the time, and one wait has room for a few */
	for (int round = 0; round < MANY && count < MANY + 1; round++) {
		struct epoll_event ev[BATCH];
		int n = poller_wait(&P, ev, BATCH, -1, NULL);

		assert_in_range(n, 1, BATCH);
		for (int i = 0; i < n; i++) {
			uintptr_t which = (uintptr_t)ev[i].data.ptr;

			count += seen[which] == 0;
			seen[which] = 1;
		}
	}
	assert_int_equal(count, MANY + 1);
	for (int i = 0; i < MANY; i++) {
		poller_remove(&P, fds[i]);
		close(fds[i]);
	}
	assert_int_equal(P.count, 0);
	close(pipes[0]);
	close(pipes[1]);
}

static void
what_is_no_descriptor_is_an_error(void **state)
{
	int fd = ready_file();

	(void)state;
	close(fd);
	assert_int_equal(poller_add(&P, fd, EPOLLIN, NULL), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(poller_change(&P, fd, EPOLLIN, NULL), -1);
}

static void
a_time_that_is_over_is_over(void **state)
{
	int file = ready_file();

	(void)state;
	assert_int_equal(poller_add(&P, file, 0, NULL), 0);
	assert_int_equal(told(0), 0);
	assert_int_equal(told(1), 0);
	close(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    what_epoll_refuses_is_told_beside_the_rest, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(none_of_many_is_forgotten,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    what_is_no_descriptor_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_time_that_is_over_is_over,
		    set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
