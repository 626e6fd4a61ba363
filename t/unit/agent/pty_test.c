/* pty_test.c: tests the table of terminals and their kept output. */
#include "t/unit/unit.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/pty/internal.h"
#include "common/mem.h"

static int
enter(struct pty *t)
{
	struct err e;
	int rc = pty_admit(t, &e);

	if (rc == 0)
		child_enter(&t->entry);
	return rc;
}

/* Writes `len` bytes; each byte is its offset modulo 251. */
static void
write_more(struct pty *t, size_t len)
{
	auto_free char *data = xmalloc(len + 1);

	for (size_t i = 0; i < len; i++)
		data[i] = (char)((t->total + (int64_t)i) % 251);
	pty_keep(t, data, len);
}

static void
the_newest_bytes_are_kept_and_numbered(void **state)
{
	enum { R = PTY_RING, B = PTY_BLOCK };
	static const struct {
		size_t writes[3];
		int64_t asked, first, begin; /* for a client that has `asked` */
		int64_t offset;              /* of the block that is read */
		size_t len;
	} CASES[] = {
		{ { 0 }, -1, 0, 0, 0, 0 },
		{ { 10 }, -1, 0, 0, 0, 10 },
		{ { 10 }, 4, 0, 4, 4, 6 },
		{ { 10 }, 10, 0, 10, 10, 0 },
		{ { 10 }, 11, 0, 0, 11, 0 },
		{ { R }, 0, 0, 0, 0, B },
		{ { R }, R - 5, 0, R - 5, R - 5, 5 },
		/* a client that has fallen behind goes on in the middle */
		{ { R, 1 }, 0, 1, 1, 1 + R / 2, B },
		{ { R, 1 }, 1, 1, 1, 1, B },
		/* output that wraps around the end of the ring */
		{ { R - 3, 8 }, R - 7, 5, R - 7, R - 7, 12 },
		{ { R - 3, R, R }, 3 * R - 10, 2 * R - 3, 3 * R - 10,
		    3 * R - 10, 7 },
		{ { 3 * R + 7 }, 3 * R, 2 * R + 7, 3 * R, 3 * R, 7 },
	};
	auto_free struct pty_block *b = xmalloc(sizeof(*b));

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct pty *t = pty_new("ring");
		int64_t at = CASES[i].asked;

		for (size_t w = 0; w < ARRAY_LEN(CASES[i].writes); w++)
			write_more(t, CASES[i].writes[w]);
		assert_int_equal(pty_now(t).first, CASES[i].first);
		assert_int_equal(pty_begin(t, at), CASES[i].begin);
		assert_int_equal(pty_read(t, at > 0 ? at : 0, b),
		    CASES[i].len > 0);
		assert_int_equal(b->offset, CASES[i].offset);
		assert_int_equal(b->len, CASES[i].len);
		for (size_t n = 0; n < b->len; n++)
			assert_int_equal((unsigned char)b->data[n],
			    (b->offset + (int64_t)n) % 251);
		pty_release(t);
	}
}

static void
a_name_is_given_up_and_the_numbers_go_on(void **state)
{
	struct pty *old = pty_new("name"), *new = pty_new("name"), *found;
	auto_free struct pty_block *b = xmalloc(sizeof(*b));
	struct err e;

	(void)state;
	assert_int_equal(enter(old), 0);
	write_more(old, 1000);
	assert_ptr_equal(found = pty_living_of("name"), old);
	pty_release(found);
	pty_ended(old);
	assert_null(pty_living_of("name"));
	assert_int_equal(pty_admit(new, &e), 0); /* not in the table */
	assert_int_equal(pty_find("name", &found, &e), 0);
	assert_ptr_equal(found, old);
	pty_release(found);
	assert_int_equal(enter(new), 0);
	assert_int_equal(pty_find("name", &found, &e), 0);
	assert_ptr_equal(found, new);
	pty_release(found);
	write_more(new, 5);
	assert_int_equal(pty_begin(new, -1), 1000);
	assert_int_equal(pty_begin(new, 400), 1000);
	assert_int_equal(pty_begin(new, 1002), 1002);
	assert_true(pty_read(new, 1000, b));
	assert_int_equal(b->len, 5);
	assert_true(pty_read(old, 0, b)); /* the test still holds it */
	pty_release(old);
	child_remove(&new->entry);
	pty_release(new);
	assert_int_equal(pty_find("name", &found, &e), -1);
}

static void
there_are_only_so_many(void **state)
{
	struct pty *all[PTY_LIVING_MAX];
	struct pty *late = pty_new("late"), **known, *found;
	char id[16];
	struct err e;
	size_t count;

	(void)state;
	for (int i = 0; i < PTY_LIVING_MAX; i++) {
		snprintf(id, sizeof(id), "t%d", i);
		all[i] = pty_new(id);
		assert_int_equal(enter(all[i]), 0);
	}
	assert_int_equal(enter(late), -1);
	for (int i = PTY_LIVING_MAX; i-- > 0;)
		pty_ended(all[i]);
	known = pty_all(&count);
	assert_int_equal(count, PTY_ENDED_MAX);
	assert_string_equal(pty_id(known[0]), "t0"); /* this one ended last */
	for (size_t i = 0; i < count; i++) {
		child_remove(&known[i]->entry);
		pty_release(known[i]);
	}
	free(known);
	assert_int_equal(pty_find("t31", &found, &e), -1);
	assert_int_equal(enter(late), 0);
	child_remove(&late->entry);
	pty_release(late);
	for (int i = 0; i < PTY_LIVING_MAX; i++)
		pty_release(all[i]);
}

static void
who_watches_is_woken(void **state)
{
	struct pty *t = pty_new("watched");
	struct child_watch one, two;
	struct pollfd f[2];
	struct err e;

	(void)state;
	assert_int_equal(pty_watch(t, &one, &e), 0);
	assert_int_equal(pty_watch(t, &two, &e), 0);
	f[0] = (struct pollfd){ one.fd, POLLIN, 0 };
	f[1] = (struct pollfd){ two.fd, POLLIN, 0 };
	assert_int_equal(poll(f, 2, 0), 0);
	child_wake(&t->entry);
	assert_int_equal(poll(f, 2, 0), 2);
	pty_unwatch(t, &one);
	child_wake(&t->entry);
	pty_unwatch(t, &two);
	assert_null(t->entry.watches);
	pty_release(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_bytes_are_kept_and_numbered),
		cmocka_unit_test(a_name_is_given_up_and_the_numbers_go_on),
		cmocka_unit_test(there_are_only_so_many),
		cmocka_unit_test(who_watches_is_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
