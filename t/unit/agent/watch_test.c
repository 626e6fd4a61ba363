/* watch_test.c: tests that watchers are told of changes to files. */
#include "../tree.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>

#include "agent/watch/watch.h"
#include "common/clock.h"
#include "common/mem.h"

static struct watch_options
wish(const char *below)
{
	return (struct watch_options){ .top = xstrdup(dir),
		.real = xasprintf("%s%s", dir, below),
		.recursive = true,
		.types = 1u << CHANGE_CREATE };
}

static enum watch_answer
check(const char *below, const char *since, char version[WATCH_VERSION_MAX])
{
	auto_watch_options struct watch_options w = wish(below);
	enum watch_answer answer = WATCH_UNCHANGED;
	struct err e;

	assert_int_equal(watch_check(&w, since, &answer, version, &e), 0);
	return answer;
}

/* Collects the paths of changes until there are `count`. */
static void
take(struct watch *w, size_t count, char *out, size_t size)
{
	size_t n = 0, len = 0;

	out[0] = '\0';
	while (n < count) {
		struct pollfd p = { watch_fd(w), POLLIN, 0 };
		struct watch_news news;
		eventfd_t seen;

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		(void)eventfd_read(watch_fd(w), &seen);
		if (!watch_take(w, &news))
			continue;
		assert_null(news.stopped);
		for (size_t i = 0; i < news.changes.count; i++)
			len += (size_t)snprintf(out + len, size - len, "%s ",
			    changes_path(&news.changes, i));
		n += news.changes.count;
		changes_free(&news.changes);
	}
}

static void
a_stream_takes_what_happens(void **state)
{
	auto_watch_options struct watch_options w = wish("/a/b");
	struct watch *watch;
	char paths[256];
	struct err e;

	(void)state;
	mkdir("a", 0700);
	mkdir("a/b", 0700);
	assert_int_equal(watch_open(&w, &watch, &e), 0);
	touch("a/beside");
	mkdir("a/b/c", 0700);
	touch("a/b/c/d");
	take(watch, 2, paths, sizeof(paths));
	assert_string_equal(paths, "c c/d ");
	watch_close(watch);
}

static void
a_version_tells_whether_there_was_more(void **state)
{
	char one[WATCH_VERSION_MAX], two[WATCH_VERSION_MAX];

	(void)state;
	assert_int_equal(check("", NULL, one), WATCH_UNCHANGED);
	assert_true(watch_is_version(one));
	assert_int_equal(check("", one, two), WATCH_UNCHANGED);
	assert_string_equal(one, two);
	touch("f");
	assert_int_equal(check("", one, two), WATCH_CHANGED);
	assert_int_equal(check("", two, two), WATCH_UNCHANGED);
}

static void
what_nobody_asks_for_is_forgotten(void **state)
{
	char one[WATCH_VERSION_MAX], two[WATCH_VERSION_MAX];

	(void)state;
	assert_int_equal(check("", NULL, one), WATCH_UNCHANGED);
	watch_sweep(clock_ms() + WATCH_IDLE_MS / 2);
	assert_int_equal(check("", one, one), WATCH_UNCHANGED);
	watch_sweep(clock_ms() + WATCH_IDLE_MS);
	assert_int_equal(check("", one, two), WATCH_EXPIRED);
	assert_string_not_equal(one, two);
	assert_int_equal(check("", "watch-1-1:0", one), WATCH_RESTARTED);
	watch_sweep(clock_ms() + WATCH_IDLE_MS);
}

static void
what_is_not_there_cannot_be_watched(void **state)
{
	auto_watch_options struct watch_options w = wish("/none");
	struct watch *watch;
	struct err e;

	(void)state;
	assert_int_equal(watch_open(&w, &watch, &e), -1);
	assert_code(e.code, CODE_FILE_NOT_FOUND);
}

static void
a_version_has_a_form(void **state)
{
	static const char *const GOOD[] = { "watch-1-2:3",
		"watch-1-1763217600000:0" };
	static const char *const BAD[] = { "", "watch", "watch-1-2",
		"watch-1:2", "watch-1-2:", "watch--2:3", "watch-1-2:3 ",
		"watch-1-2:-3", "xwatch-1-2:3", "watch-1-2-3:4" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++)
		assert_true(watch_is_version(GOOD[i]));
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++)
		assert_false(watch_is_version(BAD[i]));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stream_takes_what_happens,
		    enter, leave),
		cmocka_unit_test_setup_teardown(
		    a_version_tells_whether_there_was_more, enter, leave),
		cmocka_unit_test_setup_teardown(
		    what_nobody_asks_for_is_forgotten, enter, leave),
		cmocka_unit_test_setup_teardown(
		    what_is_not_there_cannot_be_watched, enter, leave),
		cmocka_unit_test(a_version_has_a_form),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
