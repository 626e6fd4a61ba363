/* store_world.c: tests a server that answers, refuses, and goes away. */
#include "../unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/conf.h"
#include "common/mem.h"
#include "store/listen.h"
#include "store/store.h"

static const struct store_options OPTIONS = { "store_world", PATIENCE_MS };
static struct conf CONF;

#define SUCCEEDS(call)                                                         \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", code_word(e.code), e.msg);          \
	} while (0)

/* wait: nothing comes; on a slower machine a fault may stay hidden, no more */
enum { SILENCE_MS = 50 };

static int
begin(void **state)
{
	*state = store_new(CONF.database, &OPTIONS);
	return 0;
}

static int
end(void **state)
{
	store_free(*state);
	return 0;
}

static void
rows_have_text_numbers_truths_and_nulls(void **state)
{
	struct store *st = *state;
	auto_rows struct rows *one = NULL, *left = NULL, *keys = NULL,
			      *nobody = NULL;
	struct err e = { 0 };

	SUCCEEDS(STORE_RUN(st, STMT_INSTALLATION, &one, &e));
	assert_int_equal(rows_count(one), 1);
	assert_int_equal(strlen(rows_text(one, 0, "id")), 36);
	assert_false(rows_bool(one, 0, "draining"));
	assert_false(rows_null(one, 0, "draining"));
	SUCCEEDS(
	    store_script(st, "UPDATE installation SET draining = true", &e));
	rows_free(&one);
	SUCCEEDS(STORE_RUN(st, STMT_INSTALLATION, &one, &e));
	assert_true(rows_bool(one, 0, "draining"));
	SUCCEEDS(
	    store_script(st, "UPDATE installation SET draining = false", &e));
	SUCCEEDS(STORE_RUN(st, STMT_DRAIN_LEFT, &left, &e));
	assert_int_equal(rows_int(left, 0, "leases"), 0);
	SUCCEEDS(STORE_RUN(st, STMT_KEY_CREATE, NULL, &e, "key1", "", "ann", "",
	    "read", "hash1", NULL));
	SUCCEEDS(STORE_RUN(st, STMT_AUTH_KEY, &keys, &e, "hash1", "key", ""));
	assert_int_equal(rows_count(keys), 1);
	assert_false(rows_null(keys, 0, "org"));
	assert_string_equal(rows_text(keys, 0, "org"), "");
	assert_string_equal(rows_text(keys, 0, "user_id"), "ann");
	SUCCEEDS(STORE_RUN(st, STMT_AUTH_SESSION, &nobody, &e, "hash1", "key",
	    "none", "30", "false", "", "", "", "", "read", ""));
	assert_int_equal(rows_count(nobody), 1);
	assert_true(rows_null(nobody, 0, "state"));
	assert_string_equal(rows_text(nobody, 0, "state"), "");
}

static void
no_row_is_a_result_too(void **state)
{
	struct store *st = *state;
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	SUCCEEDS(STORE_RUN(st, STMT_AUTH_KEY, &r, &e, "nothing", "key", ""));
	assert_int_equal(rows_count(r), 0);
}

static int
run_bad_cursor(struct store *st, struct err *e)
{
	return STORE_RUN(st, STMT_SESSION_LIST, NULL, e, "t", "", "", "", ".",
	    "id", "10", "");
}

static int
run_unknown_session(struct store *st, struct err *e)
{
	return STORE_RUN(st, STMT_SESSION_RESTART, NULL, e,
	    "aaaaaaaaaaaaaaaaaaaa", "{}");
}

static int
run_same_key(struct store *st, struct err *e)
{
	return STORE_RUN(st, STMT_KEY_CREATE, NULL, e, "key1", "", "ann", "",
	    "read", "hash1", NULL);
}

static int
run_unknown_scope(struct store *st, struct err *e)
{
	return STORE_RUN(st, STMT_KEY_CREATE, NULL, e, "key2", "", "ann", "",
	    "god", "hash2", NULL);
}

static int
run_for_ever(struct store *st, struct err *e)
{
	/* wait: the statement never ends by itself */
	static const struct store_options HASTY = { "store_world", 1000 };
	struct store *hasty = store_new(CONF.database, &HASTY);
	int rc = store_script(hasty, "SELECT pg_sleep(600)", e);
	struct err ignored = { 0 };

	(void)st;
	if (rc < 0) /* and the connection still works */
		assert_int_equal(STORE_RUN(hasty, STMT_PING, NULL, &ignored),
		    0);
	store_free(hasty);
	return rc;
}

static int
run_raising(struct store *st, struct err *e)
{
	return store_script(st,
	    "DO $$ BEGIN RAISE SQLSTATE 'SX503' USING MESSAGE = 'draining';"
	    " END $$",
	    e);
}

static int
run_nonsense(struct store *st, struct err *e)
{
	return store_script(st, "SELEKT", e);
}

static void
every_refusal_has_a_kind_and_a_code(void **state)
{
	static const struct {
		int (*run)(struct store *st, struct err *e);
		enum err_kind kind;
		enum err_code code;
	} CASES[] = {
		{ run_same_key, ERR_CONFLICT, CODE_ALREADY_EXISTS },
		{ run_unknown_session, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND },
		{ run_bad_cursor, ERR_INVALID, CODE_VALIDATION_FAILED },
		{ run_unknown_scope, ERR_INTERNAL, CODE_INTERNAL },
		{ run_for_ever, ERR_UNAVAILABLE, CODE_TRY_AGAIN },
		{ run_raising, ERR_UNAVAILABLE, CODE_DRAINING },
		{ run_nonsense, ERR_INTERNAL, CODE_INTERNAL },
	};
	struct store *st = *state;

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };

		assert_int_equal(CASES[i].run(st, &e), -1);
		if (e.kind != CASES[i].kind || e.code != CASES[i].code)
			fail_msg("case %zu: %s: %s", i, code_word(e.code),
			    e.msg);
		/* the connection still works */
		SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
	}
}

/* A program needs more than a sentence: the detail that our functions give. */
static void
a_refused_quota_says_which_and_how_much(void **state)
{
	static const struct conf SMALL = { .quota_sessions = 7,
		.quota_active = 1 };
	struct store *st = *state,
		     *limited = store_new(CONF.database, &OPTIONS);
	auto_rows struct rows *none = NULL, *some = NULL;
	struct err e = { 0 };

	store_limits(limited, &SMALL);
	SUCCEEDS(STORE_RUN(st, STMT_QUOTA_USAGE, &none, &e, "nobody"));
	assert_int_equal(rows_int(none, 0, "max_sessions"), 0);
	SUCCEEDS(STORE_RUN(limited, STMT_QUOTA_USAGE, &some, &e, "nobody"));
	assert_int_equal(rows_int(some, 0, "max_sessions"), 7);
	assert_int_equal(rows_int(some, 0, "sessions"), 0);
	assert_int_equal(store_script(limited,
			     "SELECT quota_check(NULL, now(),"
			     " ('nobody', 0, 2, 0, 0, 0)::quota_change)",
			     &e),
	    0); /* an unknown tenant is not refused */
	assert_int_equal(store_script(limited,
			     "SELECT quota_refuse('active', 'things', 1, 1, 9)",
			     &e),
	    -1);
	assert_int_equal(e.kind, ERR_LIMITED);
	assert_code(e.code, CODE_QUOTA_EXCEEDED);
	assert_non_null(strstr(e.more, "\"retryAfter\": 9"));
	assert_non_null(strstr(e.more, "\"name\": \"active\""));
	/* details of other errors are not for callers */
	assert_int_equal(store_script(limited,
			     "INSERT INTO org (id) VALUES ('x'), ('x')", &e),
	    -1);
	assert_string_equal(e.more, "");
	store_free(limited);
}

static void
a_lock_that_is_held_is_waited_for_and_given_up(void **state)
{
	struct store *st = *state, *other = store_new(CONF.database, &OPTIONS);
	int64_t end = clock_ms() + PATIENCE_MS;
	struct err e = { 0 };
	int rc;

	SUCCEEDS(STORE_RUN(other, STMT_SANDBOX_LOCK, NULL, &e, "box"));
	assert_int_equal(STORE_RUN(st, STMT_SANDBOX_LOCK, NULL, &e, "box"), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_code(e.code, CODE_TRY_AGAIN);
	/* a lock ends with its connection, once PostgreSQL has seen that */
	store_disconnect(other);
	while ((rc = STORE_RUN(st, STMT_SANDBOX_LOCK, NULL, &e, "box")) < 0 &&
	    e.code == CODE_TRY_AGAIN && clock_left_ms(end) > 0)
		;
	SUCCEEDS(rc);
	SUCCEEDS(STORE_RUN(st, STMT_SANDBOX_UNLOCK, NULL, &e, "box"));
	store_free(other);
}

static void
a_connection_that_ended_while_idle_is_made_anew(void **state)
{
	struct store *st = *state, *other = store_new(CONF.database, &OPTIONS);
	struct err e = { 0 };

	SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
	SUCCEEDS(store_script(other,
	    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
	    " WHERE application_name = 'store_world'"
	    " AND pid <> pg_backend_pid()",
	    &e));
	/* prepared statements work, too */
	SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
	store_free(other);
}

static void
a_connection_that_ends_in_mid_statement_is_an_error_once(void **state)
{
	struct store *st = *state;
	struct err e = { 0 };

	assert_int_equal(store_script(st,
			     "SELECT pg_terminate_backend(pg_backend_pid())",
			     &e),
	    -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	assert_code(e.code, CODE_DATABASE_UNAVAILABLE);
	SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
}

static void
a_direct_connection_keeps_its_locks(void **state)
{
	struct err e = { 0 };

	SUCCEEDS(store_check_pooling(*state, &e));
	SUCCEEDS(store_check_pooling(*state, &e));
}

/* ---- listening */

static void
notify(const char *channel)
{
	auto_free char *sql = xasprintf("NOTIFY %s", channel);
	struct store *other = store_new(CONF.database, &OPTIONS);
	struct err e = { 0 };

	SUCCEEDS(store_script(other, sql, &e));
	store_free(other);
}

static void
what_is_notified_is_told_once(void **state)
{
	struct store *st = *state;
	enum listen_why why;
	struct err e = { 0 };

	SUCCEEDS(listen_begin(st, "news", &e));
	notify("gossip");
	notify("news");
	notify("news");
	/* a statement in between loses no notification */
	SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
	SUCCEEDS(listen_wait(st, -1, clock_ms() + PATIENCE_MS, &why, &e));
	assert_int_equal(why, LISTEN_TOLD);
	SUCCEEDS(listen_wait(st, -1, clock_ms() + SILENCE_MS, &why, &e));
	assert_int_equal(why, LISTEN_TIME);
	listen_end(st);
	notify("news");
	SUCCEEDS(listen_wait(st, -1, clock_ms() + SILENCE_MS, &why, &e));
	assert_int_equal(why, LISTEN_TIME);
}

static void
a_peer_that_hangs_up_ends_the_wait(void **state)
{
	struct store *st = *state;
	enum listen_why why;
	struct err e = { 0 };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	SUCCEEDS(listen_begin(st, "news", &e));
	/* its bytes are not for listen_wait() */
	assert_int_equal(write(pair[1], "x", 1), 1);
	SUCCEEDS(listen_wait(st, pair[0], clock_ms() + SILENCE_MS, &why, &e));
	assert_int_equal(why, LISTEN_TIME);
	close(pair[1]);
	SUCCEEDS(listen_wait(st, pair[0], clock_ms() + PATIENCE_MS, &why, &e));
	assert_int_equal(why, LISTEN_GONE);
	close(pair[0]);
	listen_end(st);
}

static void
a_connection_that_ends_while_listening_is_an_error(void **state)
{
	struct store *st = *state, *other = store_new(CONF.database, &OPTIONS);
	enum listen_why why;
	struct err e = { 0 };

	SUCCEEDS(listen_begin(st, "news", &e));
	SUCCEEDS(store_script(other,
	    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
	    " WHERE application_name = 'store_world'"
	    " AND pid <> pg_backend_pid()",
	    &e));
	assert_int_equal(
	    listen_wait(st, -1, clock_ms() + PATIENCE_MS, &why, &e), -1);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
	listen_end(st);
	SUCCEEDS(STORE_RUN(st, STMT_PING, NULL, &e));
	store_free(other);
}

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_TEST(rows_have_text_numbers_truths_and_nulls),
		WORLD_TEST(no_row_is_a_result_too),
		WORLD_TEST(every_refusal_has_a_kind_and_a_code),
		WORLD_TEST(a_refused_quota_says_which_and_how_much),
		WORLD_TEST(a_lock_that_is_held_is_waited_for_and_given_up),
		WORLD_TEST(a_connection_that_ended_while_idle_is_made_anew),
		WORLD_TEST(
		    a_connection_that_ends_in_mid_statement_is_an_error_once),
		WORLD_TEST(a_direct_connection_keeps_its_locks),
		WORLD_TEST(what_is_notified_is_told_once),
		WORLD_TEST(a_peer_that_hangs_up_ends_the_wait),
		WORLD_TEST(a_connection_that_ends_while_listening_is_an_error),
	};
	struct err e = { 0 };

	if (conf_load(NULL, &CONF, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
