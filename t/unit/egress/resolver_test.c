/* resolver_test.c: tests that names resolve, fail and can be cancelled. */
#include "../unit.h"

#include <ares.h>
#include <stdlib.h>

#include "common/mem.h"
#include "egress/base/resolver.h"
#include "name_server.h"

enum { MANY = 200 };

/*
 * After which time, and how often, c-ares asks.  The server answers at once, but
 * its thread may have to wait for the processor: only a query that fails in any
 * case has a short time.
 */
static const struct patience {
	int ms, tries;
} LONG = { PATIENCE_MS, 1 }, SHORT = { 50, 2 }, OFTEN = { 100, 10 };
static struct patience patience;

int __real_ares_init_options(ares_channel *channel, struct ares_options *o,
    int mask);
int __wrap_ares_init_options(ares_channel *channel, struct ares_options *o,
    int mask);
int
__wrap_ares_init_options(ares_channel *channel, struct ares_options *o,
    int mask)
{
	o->timeout = patience.ms;
	o->tries = patience.tries;
	return __real_ares_init_options(channel, o, mask);
}

static struct name_server S;
static struct loop L;
static struct resolver *R;

static int
set_up(const struct patience *p)
{
	char servers[64];
	struct err e;

	patience = *p;
	name_server_start(&S);
	snprintf(servers, sizeof(servers), "127.0.0.1:%d", S.port);
	return loop_open(&L, &e) < 0 || resolver_open(&L, servers, &R, &e) < 0;
}

static int
set_up_long(void **state)
{
	(void)state;
	return set_up(&LONG);
}

static int
set_up_short(void **state)
{
	(void)state;
	return set_up(&SHORT);
}

static int
set_up_often(void **state)
{
	(void)state;
	return set_up(&OFTEN);
}

static int
tear_down(void **state)
{
	(void)state;
	if (R != NULL)
		resolver_close(TAKE(R));
	assert_int_equal(L.timers, 0);
	loop_close(&L);
	name_server_stop(&S);
	return 0;
}

struct asked {
	struct resolved answer;
	int told;
	struct resolver_query *query;
	struct asked *cancels, *asks; /* when it is told */
};

static void
on_resolved(void *ctx, const struct resolved *r)
{
	struct asked *a = ctx;

	assert_null(a->query);
	a->answer = *r;
	a->told++;
	if (a->cancels != NULL)
		resolver_cancel(&a->cancels->query);
	if (a->asks != NULL)
		resolver_ask(R, "one", "four.example", on_resolved, a->asks,
		    &a->asks->query);
}

static void
ask_by(struct asked *a, const char *by, const char *host)
{
	resolver_ask(R, by, host, on_resolved, a, &a->query);
}

static void
ask(struct asked *a, const char *host)
{
	ask_by(a, "one", host);
}

static void
ask_and_wait(struct asked *a, const char *host)
{
	*a = (struct asked){ .told = 0 };
	ask(a, host);
	while (a->told == 0)
		loop_round(&L, NULL);
	assert_int_equal(a->told, 1);
}

static bool
has(const struct asked *a, const char *text)
{
	char is[ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < a->answer.count; i++) {
		address_print(&a->answer.list[i], is);
		if (strcmp(is, text) == 0)
			return true;
	}
	return false;
}

static void
a_name_resolves_to_its_addresses(void **state)
{
	static const struct {
		const char *host;
		enum resolve_status status;
		const char *addresses[2];
	} CASES[] = {
		{ "both.example", RESOLVE_OK, { "192.0.2.1", "2001:db8::1" } },
		{ "four.example", RESOLVE_OK, { "192.0.2.4" } },
		{ "six.example", RESOLVE_OK, { "2001:db8::6" } },
		{ "chain.example", RESOLVE_OK, { "192.0.2.9", "2001:db8::9" } },
		{ "none.example", RESOLVE_NO_NAME, { NULL } },
		{ "empty.example", RESOLVE_NO_NAME, { NULL } },
		{ "loop.example", RESOLVE_NO_NAME, { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct asked a;
		size_t count = 0;

		ask_and_wait(&a, CASES[i].host);
		if (a.answer.status != CASES[i].status)
			fail_msg("%s: %d", CASES[i].host, a.answer.status);
		for (; count < 2 && CASES[i].addresses[count] != NULL; count++)
			if (!has(&a, CASES[i].addresses[count]))
				fail_msg("%s", CASES[i].host);
		assert_int_equal(a.answer.count, count);
	}
}

static void
all_who_ask_for_a_name_share_one_question(void **state)
{
	static struct asked all[MANY];
	struct asked last = { .told = 0 };

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		all[i] = (struct asked){ .told = 0 };
		ask(&all[i], "both.example");
		if (i % 2 == 0) /* goes away */
			resolver_cancel(&all[i].query);
	}
	ask(&last, "both.example");
	while (last.told == 0)
		loop_round(&L, NULL);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(all[i].told, i % 2);
		assert_null(all[i].query);
	}
	/* one for each kind of address */
	assert_int_equal(atomic_load(&S.queries), 2);
}

static void
a_query_without_a_valid_answer_fails(void **state)
{
	static const char *const HOSTS[] = { "fail.example", "cut.example",
		"forged.example", "silent.example" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
		struct asked a;

		ask_and_wait(&a, HOSTS[i]);
		if (a.answer.status != RESOLVE_FAILED)
			fail_msg("%s: %d", HOSTS[i], a.answer.status);
		assert_int_equal(a.answer.count, 0);
	}
}

static void
a_server_is_asked_again(void **state)
{
	struct asked a;

	(void)state;
	/* the first queries are not answered */
	ask_and_wait(&a, "late.example");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_true(has(&a, "192.0.2.1") && has(&a, "2001:db8::1"));
	assert_true(atomic_load(&S.queries) > 2);
}

static void
an_address_is_refused_in_whatever_form_it_comes(void **state)
{
	const struct address_list none = { .count = 0 };
	struct asked a;

	(void)state;
	ask_and_wait(&a, "mapped.example");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_int_equal(a.answer.count, 1);
	assert_true(has(&a, "::ffff:127.0.0.1"));
	assert_false(address_allowed(&a.answer.list[0], &none));
}

static void
an_answer_has_a_limited_number_of_addresses(void **state)
{
	struct asked a;

	(void)state;
	ask_and_wait(&a, "many.example");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_int_equal(a.answer.count, RESOLVED_MAX);
}

static void
an_answer_that_was_cut_is_used_as_it_is(void **state)
{
	struct asked a;

	(void)state;
	/* a server that says so would be asked by TCP, where none listens */
	ask_and_wait(&a, "long.example");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_int_equal(a.answer.count, 2);
	assert_int_equal(atomic_load(&S.queries), 2);
}

static void
a_name_of_an_old_server_changes_nothing_for_others(void **state)
{
	struct asked a;

	(void)state;
	ask_and_wait(&a, "old.example"); /* asked again without EDNS */
	assert_int_equal(a.answer.status, RESOLVE_OK);
	ask_and_wait(&a, "big.example");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_int_equal(a.answer.count, 2);
}

static void
an_address_resolves_to_itself(void **state)
{
	static const char *const HOSTS[] = { "192.0.2.7", "2001:db8::7",
		"127.0.0.1", "::ffff:10.0.0.1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
		struct asked a = { .told = 0 };

		ask(&a, HOSTS[i]);
		assert_int_equal(a.told, 1);
		assert_int_equal(a.answer.status, RESOLVE_OK);
		assert_int_equal(a.answer.count, 1);
		assert_true(has(&a, HOSTS[i]));
		assert_int_equal(atomic_load(&S.queries), 0);
	}
}

static void
a_name_is_asked_for_as_it_is(void **state)
{
	struct asked a;

	(void)state;
	/* without the domain of this machine, and without /etc/hosts */
	ask_and_wait(&a, "four");
	assert_int_equal(a.answer.status, RESOLVE_OK);
	assert_string_equal(S.last, "four");
	ask_and_wait(&a, "none");
	assert_int_equal(a.answer.status, RESOLVE_NO_NAME);
	assert_string_equal(S.last, "none");
	ask_and_wait(&a, "none.example");
	assert_int_equal(a.answer.status, RESOLVE_NO_NAME);
	assert_string_equal(S.last, "none.example");
}

static void
a_cancelled_query_is_not_told(void **state)
{
	struct asked cancelled = { .told = 0 }, other;

	(void)state;
	ask(&cancelled, "both.example");
	assert_non_null(cancelled.query);
	resolver_cancel(&cancelled.query);
	assert_null(cancelled.query);
	resolver_cancel(&cancelled.query);
	ask_and_wait(&other, "four.example");
	ask_and_wait(&other, "both.example");
	assert_int_equal(cancelled.told, 0);
	/* cancelled while another is told */
	ask(&cancelled, "silent.example");
	other = (struct asked){ .cancels = &cancelled };
	ask(&other, "four.example");
	while (other.told == 0)
		loop_round(&L, NULL);
	assert_null(cancelled.query);
	/* until the servers were asked for the last time */
	ask_and_wait(&other, "silent.example");
	assert_int_equal(cancelled.told, 0);
}

static void
a_query_may_follow_from_another(void **state)
{
	struct asked second = { .told = 0 };
	struct asked first = { .asks = &second };

	(void)state;
	ask(&first, "none.example");
	while (second.told == 0)
		loop_round(&L, NULL);
	assert_int_equal(first.answer.status, RESOLVE_NO_NAME);
	assert_true(has(&second, "192.0.2.4"));
}

static void
many_names_resolve_at_once(void **state)
{
	static struct asked asked[MANY];
	char host[64], by[64];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		snprintf(host, sizeof(host), "both%d.example", i);
		snprintf(by, sizeof(by), "tenant %d", i % 10);
		asked[i] = (struct asked){ .told = 0 };
		ask_by(&asked[i], by, host);
	}
	for (int i = 0; i < MANY; i++)
		while (asked[i].told == 0)
			loop_round(&L, NULL);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(asked[i].answer.status, RESOLVE_OK);
		assert_int_equal(asked[i].answer.count, 2);
	}
}

static void
who_asks_for_too_many_names_keeps_no_one_else_waiting(void **state)
{
	struct asked own, other = { .told = 0 }, same = { .told = 0 };
	char host[64];

	(void)state;
	for (int i = 0; i < RESOLVER_OWN_MAX; i++) {
		snprintf(host, sizeof(host), "silent%d.example", i);
		own = (struct asked){ .told = 0 };
		ask(&own, host);
		assert_int_equal(own.told, 0);
		resolver_cancel(&own.query); /* goes away: it still counts */
	}
	own = (struct asked){ .told = 0 };
	ask(&own, "four.example");
	assert_int_equal(own.told, 1);
	assert_int_equal(own.answer.status, RESOLVE_BUSY);
	ask(&same, "silent0.example"); /* a name that is under way */
	assert_int_equal(same.told, 0);
	ask_by(&other, "another", "both.example");
	while (other.told == 0)
		loop_round(&L, NULL);
	assert_int_not_equal(other.answer.status, RESOLVE_BUSY);
	while (same.told == 0)
		loop_round(&L, NULL);
	assert_int_equal(same.answer.status, RESOLVE_FAILED);
	ask_and_wait(&own, "four.example");
	assert_int_not_equal(own.answer.status, RESOLVE_BUSY);
}

static void
queries_that_are_open_at_the_end_have_failed(void **state)
{
	struct asked open = { .told = 0 }, cancelled = { .told = 0 };

	(void)state;
	ask(&open, "silent.example");
	ask(&cancelled, "silent2.example");
	resolver_cancel(&cancelled.query);
	resolver_close(TAKE(R));
	assert_int_equal(open.told, 1);
	assert_int_equal(open.answer.status, RESOLVE_FAILED);
	assert_null(open.query);
	assert_int_equal(cancelled.told, 0);
}

static void
a_name_that_cannot_be_asked_for_has_no_address(void **state)
{
	char host[400];
	struct asked a;

	(void)state;
	memset(host, 'a', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	ask_and_wait(&a, host);
	assert_int_equal(a.answer.status, RESOLVE_NO_NAME);
	ask_and_wait(&a, "a..example");
	assert_int_equal(a.answer.status, RESOLVE_NO_NAME);
	assert_int_equal(atomic_load(&S.queries), 0);
}

static void
without_a_server_a_query_fails(void **state)
{
	struct asked a;
	char servers[64];
	struct err e;

	(void)state;
	/* a port of UDP where nothing listens any more */
	resolver_close(TAKE(R));
	snprintf(servers, sizeof(servers), "127.0.0.1:%d", S.port);
	name_server_stop(&S);
	assert_int_equal(resolver_open(&L, servers, &R, &e), 0);
	ask_and_wait(&a, "four.example");
	assert_int_equal(a.answer.status, RESOLVE_FAILED);
	name_server_start(&S);
}

static void
servers_are_checked(void **state)
{
	static const char *const BAD[] = { "x", "127.0.0.1:53x",
		"ns.example:53", "127.0.0.1:99999", "127.0.0.1:0", ",", " ",
		"127.0.0.1;127.0.0.2", "127.0.0.1, x", "[::1", "[127.0.0.1]:53",
		"::1,::2,::3,::4,::5,::6,::7,::8,::9" };
	static const char *const GOOD[] = { "", "127.0.0.1", "127.0.0.1:5353",
		"127.0.0.1, 127.0.0.2:54", "::1", "[::1]:5353",
		" 127.0.0.1,,[::1] ", "::1,::2,::3,::4,::5,::6,::7,::8" };
	struct resolver *r = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		struct err e = { 0 };

		if (resolver_open(&L, BAD[i], &r, &e) == 0)
			fail_msg("\"%s\" is accepted", BAD[i]);
		assert_code(e.code, CODE_BAD_SETTING);
	}
	for (size_t i = 0; i < ARRAY_LEN(GOOD); i++) {
		struct err e = { 0 };

		if (resolver_open(&L, GOOD[i], &r, &e) < 0)
			fail_msg("\"%s\": %s", GOOD[i], e.msg);
		resolver_close(r);
	}
}

#define CASE(name, how)                                                        \
	cmocka_unit_test_setup_teardown(name, set_up_##how, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_name_resolves_to_its_addresses, long),
		CASE(all_who_ask_for_a_name_share_one_question, long),
		CASE(a_query_without_a_valid_answer_fails, short),
		CASE(a_server_is_asked_again, often),
		CASE(an_address_is_refused_in_whatever_form_it_comes, long),
		CASE(an_answer_has_a_limited_number_of_addresses, long),
		CASE(an_answer_that_was_cut_is_used_as_it_is, long),
		CASE(a_name_of_an_old_server_changes_nothing_for_others, long),
		CASE(an_address_resolves_to_itself, long),
		CASE(a_name_is_asked_for_as_it_is, long),
		CASE(a_cancelled_query_is_not_told, short),
		CASE(a_query_may_follow_from_another, long),
		CASE(many_names_resolve_at_once, often),
		CASE(who_asks_for_too_many_names_keeps_no_one_else_waiting,
		    short),
		CASE(queries_that_are_open_at_the_end_have_failed, long),
		CASE(a_name_that_cannot_be_asked_for_has_no_address, long),
		CASE(without_a_server_a_query_fails, short),
		CASE(servers_are_checked, long),
	};

	/* c-ares must not add it to names */
	setenv("LOCALDOMAIN", "search.example", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
