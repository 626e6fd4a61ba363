/* loop_test.c: tests timers, watches that end in a round, and graves. */
#include "../unit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "egress/base/loop.h"

enum { MANY = 300, FAR_MS = 3600 * 1000 }; /* wait: never comes */

static struct loop L;

static int
set_up(void **state)
{
	struct err e;

	(void)state;
	return loop_open(&L, &e);
}

static int
tear_down(void **state)
{
	(void)state;
	loop_close(&L);
	return 0;
}

/* ---- timers */

struct alarm {
	struct loop_timer timer; /* first: cast in on_alarm() */
	int fired;
	struct alarm *clears, *sets; /* when it fires */
};

static int64_t last_ms;
static int fired;

static void
on_alarm(struct loop_timer *t)
{
	struct alarm *a = (struct alarm *)(void *)t;

	assert_int_equal(t->index, 0);
	assert_true(t->at_ms >= last_ms);
	last_ms = t->at_ms;
	a->fired++;
	fired++;
	if (a->clears != NULL)
		loop_clear(&L, &a->clears->timer);
	if (a->sets != NULL)
		loop_set(&L, &a->sets->timer, t->at_ms);
}

static void
heap_is_ordered(void)
{
	for (size_t i = 1; i <= L.timers; i++) {
		assert_int_equal(L.heap[i]->index, i);
		assert_true(i == 1 || L.heap[i / 2]->at_ms <= L.heap[i]->at_ms);
	}
}

static void
timers_fire_in_the_order_of_their_times(void **state)
{
	static struct alarm alarms[MANY];
	int64_t now = clock_ms();
	size_t left = 0;
	unsigned seed = 1;

	(void)state;
	last_ms = 0;
	fired = 0;
	for (size_t i = 0; i < MANY; i++) {
		alarms[i] = (struct alarm){ .timer.fire = on_alarm };
		loop_set(&L, &alarms[i].timer, now - rand_r(&seed) % 1000);
	}
	heap_is_ordered();
	/* some are moved, some are cleared, some are far away */
	for (size_t i = 0; i < MANY; i += 3)
		loop_set(&L, &alarms[i].timer, now - rand_r(&seed) % 1000);
	for (size_t i = 1; i < MANY; i += 3) {
		loop_clear(&L, &alarms[i].timer);
		loop_clear(&L, &alarms[i].timer);
		heap_is_ordered();
	}
	for (size_t i = 2; i < MANY; i += 6) {
		loop_set(&L, &alarms[i].timer, now + FAR_MS);
		left++;
	}
	heap_is_ordered();
	loop_round(&L, NULL);
	assert_int_equal(L.timers, left);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(alarms[i].fired,
		    i % 3 != 1 && alarms[i].timer.index == 0);
	for (size_t i = 0; i < MANY; i++)
		loop_clear(&L, &alarms[i].timer);
	assert_int_equal(L.timers, 0);
}

static void
a_timer_that_another_clears_does_not_fire(void **state)
{
	int64_t now = clock_ms();
	struct alarm second = { .timer.fire = on_alarm };
	struct alarm first = { .timer.fire = on_alarm, .clears = &second };

	(void)state;
	last_ms = 0;
	loop_set(&L, &second.timer, now - 1);
	loop_set(&L, &first.timer, now - 2);
	loop_round(&L, NULL);
	assert_int_equal(first.fired, 1);
	assert_int_equal(second.fired, 0);
	assert_int_equal(L.timers, 0);
	/* a timer that fires is over already */
	first.clears = &first;
	loop_set(&L, &first.timer, now);
	loop_round(&L, NULL);
	assert_int_equal(first.fired, 2);
}

static void
a_timer_that_sets_itself_does_not_hold_the_loop(void **state)
{
	struct alarm again = { .timer.fire = on_alarm };
	struct alarm other = { .timer.fire = on_alarm };

	(void)state;
	again.sets = &again;
	last_ms = 0;
	loop_set(&L, &again.timer, 1);
	loop_set(&L, &other.timer, 2);
	for (int i = 0; i < 3; i++)
		loop_round(&L, NULL);
	assert_in_range(again.fired, 1, 6);
	loop_clear(&L, &again.timer);
	last_ms = 0;
	loop_round(&L, NULL);
	assert_int_equal(other.fired, 1);
	assert_int_equal(L.timers, 0);
}

static void
a_round_waits_for_the_next_timer(void **state)
{
	int64_t at_ms = clock_ms() + 20; /* wait: any time passes */
	struct alarm a = { .timer.fire = on_alarm };

	(void)state;
	last_ms = 0;
	loop_set(&L, &a.timer, at_ms);
	while (a.fired == 0)
		loop_round(&L, NULL);
	assert_true(clock_ms() >= at_ms);
}

/* ---- descriptors */

struct end {
	struct loop_watch watch; /* first: cast in on_end() */
	int told;
	uint32_t events;
	struct end *forgets;
	bool buries;
};

static int released;

static void
release(void *owner)
{
	released++;
	free(owner);
}

static void
on_end(struct loop_watch *w, uint32_t events)
{
	struct end *d = (struct end *)(void *)w;

	d->told++;
	d->events = events;
	if (d->forgets != NULL) {
		loop_forget(&L, &d->forgets->watch);
		if (d->buries)
			loop_bury(&L, d->forgets, release);
		d->forgets = NULL;
	}
}

static struct end *
new_end(void)
{
	struct end *d = xcalloc(1, sizeof(*d));

	d->watch = (struct loop_watch){ .ready = on_end, .fd = -1 };
	return d;
}

static void
a_watch_that_is_forgotten_in_the_round_is_not_told(void **state)
{
	struct end *ends[2] = { new_end(), new_end() };
	int pipes[2][2];
	int told;

	(void)state;
	released = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pipe(pipes[i]), 0);
		assert_int_equal(write(pipes[i][1], "x", 1), 1);
		assert_int_equal(
		    loop_watch(&L, &ends[i]->watch, pipes[i][0], EPOLLIN), 0);
		ends[i]->forgets = ends[1 - i];
		ends[i]->buries = true;
	}
	/* whichever comes first ends the other, whose memory lives on */
	loop_round(&L, NULL);
	assert_int_equal(released, 1);
	told = ends[0]->watch.events != 0 ? 0 : 1;
	assert_int_equal(ends[told]->told, 1);
	loop_forget(&L, &ends[told]->watch);
	free(ends[told]);
	for (int i = 0; i < 2; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static void
a_watch_is_for_one_descriptor(void **state)
{
	auto_free struct end *d = new_end();
	int a[2], b[2];

	(void)state;
	assert_int_equal(pipe(a), 0);
	assert_int_equal(pipe(b), 0);
	assert_int_equal(write(a[1], "x", 1), 1);
	assert_int_equal(loop_watch(&L, &d->watch, a[0], EPOLLIN), 0);
	/* the same again is no error */
	assert_int_equal(loop_watch(&L, &d->watch, a[0], EPOLLIN), 0);
	loop_round(&L, NULL);
	assert_int_equal(d->told, 1);
	/* another descriptor: the first one is watched no more */
	assert_int_equal(loop_watch(&L, &d->watch, b[1], EPOLLOUT), 0);
	assert_int_equal(d->watch.fd, b[1]);
	loop_round(&L, NULL);
	assert_int_equal(d->told, 2);
	assert_int_equal(d->events, EPOLLOUT);
	/* no events: not watched */
	assert_int_equal(loop_watch(&L, &d->watch, b[1], 0), 0);
	assert_int_equal(d->watch.fd, -1);
	loop_forget(&L, &d->watch);
	/* a descriptor that is not open */
	close(b[0]);
	assert_int_equal(loop_watch(&L, &d->watch, b[0], EPOLLIN), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(d->watch.fd, -1);
	assert_int_equal(d->watch.events, 0);
	close(a[0]);
	close(a[1]);
	close(b[1]);
}

static void
a_closed_end_is_told_whatever_was_asked(void **state)
{
	auto_free struct end *d = new_end();
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	close(p[1]);
	assert_int_equal(loop_watch(&L, &d->watch, p[0], EPOLLPRI), 0);
	loop_round(&L, NULL);
	assert_int_equal(d->told, 1);
	assert_true((d->events & EPOLLHUP) != 0);
	loop_forget(&L, &d->watch);
	close(p[0]);
}

/* ---- graves */

static void
release_and_bury(void *owner)
{
	int *left = owner;

	released++;
	if (--*left > 0)
		loop_bury(&L, left, release_and_bury);
}

static void
the_buried_are_released_after_the_round(void **state)
{
	int left = MANY, none = 1;

	(void)state;
	released = 0;
	loop_bury(&L, &left, release_and_bury);
	loop_bury(&L, &none, release_and_bury);
	assert_int_equal(released, 0);
	{
		struct alarm now = { .timer.fire = on_alarm };

		last_ms = 0;
		loop_set(&L, &now.timer, 1);
		loop_round(&L, NULL);
	}
	assert_int_equal(released, MANY + 1);
	assert_int_equal(L.dead, 0);
	/* and at the end */
	none = 1;
	loop_bury(&L, &none, release_and_bury);
	loop_close(&L);
	assert_int_equal(released, MANY + 2);
	assert_int_equal(set_up(state), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(timers_fire_in_the_order_of_their_times),
		CASE(a_timer_that_another_clears_does_not_fire),
		CASE(a_timer_that_sets_itself_does_not_hold_the_loop),
		CASE(a_round_waits_for_the_next_timer),
		CASE(a_watch_that_is_forgotten_in_the_round_is_not_told),
		CASE(a_watch_is_for_one_descriptor),
		CASE(a_closed_end_is_told_whatever_was_asked),
		CASE(the_buried_are_released_after_the_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
