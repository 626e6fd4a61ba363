/* auth_cache_test.c: tests when an answer that was kept is given again. */
#include "../unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/gate/auth_cache.h"

/* The cache's clock (--wrap) advances only when a test says so. */
static int64_t now_us;

int64_t __wrap_clock_us(void);

int64_t
__wrap_clock_us(void)
{
	return now_us;
}

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER "99112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static const struct auth_right RIGHT = { .session = "aaaaaaaaaaaaaaaaaaaa",
	.port = "8000",
	.hash = HASH };
static const struct admission ADMISSION = { .upstream = "unix:/run/a",
	.scope = ACCESS_READ,
	.by = "key",
	.text = "acme" };

struct world {
	struct revocations *page;
	struct auth_cache *cache;
};

static int
begin(void **state)
{
	static struct world w;

	now_us = 1000 * 1000;
	w.page = revocations_new();
	w.cache = auth_cache_new(64, w.page);
	revocations_prove(w.page, now_us);
	*state = &w;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;

	auth_cache_free(w->cache);
	return 0;
}

static const struct admission *
find(struct world *w, const struct auth_right *right)
{
	struct auth_lookup l;

	return auth_cache_find(w->cache, right, &l);
}

static void
keep(struct world *w, const struct auth_right *right, int64_t ms)
{
	struct auth_lookup l;

	assert_null(auth_cache_find(w->cache, right, &l));
	auth_cache_keep(w->cache, right, &l, &ADMISSION, ms);
}

static void
an_answer_is_given_again(void **state)
{
	const struct admission *a;

	keep(*state, &RIGHT, 100);
	a = find(*state, &RIGHT);
	assert_non_null(a);
	assert_string_equal(a->upstream, "unix:/run/a");
	assert_int_equal(a->scope, ACCESS_READ);
	assert_string_equal(a->by, "key");
	assert_string_equal(a->text, "acme");
}

/* Everything that names the right counts. */
static void
another_right_has_no_answer(void **state)
{
	struct auth_right other[] = { RIGHT, RIGHT, RIGHT, RIGHT, RIGHT };

	keep(*state, &RIGHT, 100);
	other[0].session = "aaaaaaaaaaaaaaaaaaab";
	other[1].port = "8001";
	other[2].port = "";
	other[3].hash = OTHER;
	other[4].preview = true;
	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		assert_null(find(*state, &other[i]));
}

/* The time counts from the question, not from the answer. */
static void
it_ends_at_its_date(void **state)
{
	struct world *w = *state;
	struct auth_lookup l;

	assert_null(auth_cache_find(w->cache, &RIGHT, &l));
	now_us += 10 * 1000;
	auth_cache_keep(w->cache, &RIGHT, &l, &ADMISSION, 30);
	now_us += 20 * 1000 - 1;
	assert_non_null(find(w, &RIGHT));
	now_us += 1;
	assert_null(find(w, &RIGHT));
}

static void
what_has_no_time_left_is_not_kept(void **state)
{
	keep(*state, &RIGHT, 0);
	assert_null(find(*state, &RIGHT));
	keep(*state, &RIGHT, -5);
	assert_null(find(*state, &RIGHT));
}

static void
a_revocation_ends_it(void **state)
{
	static const char *const NAMES[] = { "aaaaaaaaaaaaaaaaaaaa",
		"0011223344556677", "" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		keep(w, &RIGHT, 1000);
		assert_non_null(find(w, &RIGHT));
		revocations_end(w->page, NAMES[i]);
		assert_null(find(w, &RIGHT));
	}
	keep(w, &RIGHT, 1000);
	revocations_end_all(w->page);
	assert_null(find(w, &RIGHT));
}

/* A preview is a right by its token, which no key's revocation ends. */
static void
another_revocation_does_not(void **state)
{
	struct world *w = *state;
	struct auth_right preview = RIGHT;

	preview.preview = true;
	keep(w, &RIGHT, 1000);
	keep(w, &preview, 1000);
	revocations_end(w->page, "bbbbbbbbbbbbbbbbbbbb");
	revocations_end(w->page, "9911223344556677");
	assert_non_null(find(w, &RIGHT));
	revocations_end(w->page, "0011223344556677");
	assert_null(find(w, &RIGHT));
	assert_non_null(find(w, &preview));
}

/* The answer may have been read just before the right was taken away. */
static void
what_was_revoked_meanwhile_is_not_kept(void **state)
{
	struct world *w = *state;
	struct auth_lookup l;

	assert_null(auth_cache_find(w->cache, &RIGHT, &l));
	revocations_end(w->page, RIGHT.session);
	auth_cache_keep(w->cache, &RIGHT, &l, &ADMISSION, 1000);
	assert_null(find(w, &RIGHT));
}

static void
without_a_fresh_proof_nothing_is_found(void **state)
{
	struct world *w = *state;

	keep(w, &RIGHT, 1000);
	now_us += REVOCATIONS_FRESH_US;
	assert_non_null(find(w, &RIGHT));
	now_us += 1;
	assert_null(find(w, &RIGHT));
	revocations_prove(w->page, now_us);
	assert_non_null(find(w, &RIGHT));
	revocations_prove(w->page, 0); /* nobody listens */
	assert_null(find(w, &RIGHT));
}

static void
nor_is_anything_kept(void **state)
{
	struct world *w = *state;

	revocations_prove(w->page, 0);
	keep(w, &RIGHT, 1000);
	revocations_prove(w->page, now_us);
	assert_null(find(w, &RIGHT));
}

/* The newest answer counts, and has one place. */
static void
an_answer_is_replaced(void **state)
{
	struct world *w = *state;
	struct admission newer = ADMISSION;
	struct auth_lookup l;

	keep(w, &RIGHT, 1000);
	newer.upstream = "unix:/run/b";
	revocations_end(w->page, RIGHT.session);
	assert_null(auth_cache_find(w->cache, &RIGHT, &l));
	auth_cache_keep(w->cache, &RIGHT, &l, &newer, 1000);
	assert_string_equal(find(w, &RIGHT)->upstream, "unix:/run/b");
}

/* A tenant with many sessions costs others an answer, never a wrong one. */
static void
it_does_not_grow(void **state)
{
	struct world *w = *state;
	size_t found = 0;

	for (int i = 0; i < 1000; i++) {
		char id[ID_SESSION_LEN + 1];
		struct auth_right right = RIGHT;

		snprintf(id, sizeof(id), "b%019d", i);
		right.session = id;
		keep(w, &right, 1000);
		assert_non_null(find(w, &right));
	}
	for (int i = 0; i < 1000; i++) {
		char id[ID_SESSION_LEN + 1];
		struct auth_right right = RIGHT;

		snprintf(id, sizeof(id), "b%019d", i);
		right.session = id;
		found += find(w, &right) != NULL;
	}
	assert_in_range(found, 48, 64);
}

static void
a_text_that_is_too_long_is_not_kept(void **state)
{
	struct world *w = *state;
	struct admission what = ADMISSION;
	struct auth_lookup l;
	char text[400];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	what.text = text;
	(void)auth_cache_find(w->cache, &RIGHT, &l);
	auth_cache_keep(w->cache, &RIGHT, &l, &what, 1000);
	assert_null(find(w, &RIGHT));
}

static void
a_process_that_only_reads_cannot_write(void **state)
{
	struct world *w = *state;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		revocations_protect(w->page);
		if (revocations_are_fresh(w->page, now_us))
			revocations_prove(w->page, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* a sanitizer turns the signal into a status */
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_true(revocations_are_fresh(w->page, now_us));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_is_given_again),
		TEST(another_right_has_no_answer),
		TEST(it_ends_at_its_date),
		TEST(what_has_no_time_left_is_not_kept),
		TEST(a_revocation_ends_it),
		TEST(another_revocation_does_not),
		TEST(what_was_revoked_meanwhile_is_not_kept),
		TEST(without_a_fresh_proof_nothing_is_found),
		TEST(nor_is_anything_kept),
		TEST(an_answer_is_replaced),
		TEST(it_does_not_grow),
		TEST(a_text_that_is_too_long_is_not_kept),
		TEST(a_process_that_only_reads_cannot_write),
	};

	return cmocka_run_group_tests_name("auth_cache", tests, NULL, NULL);
}
