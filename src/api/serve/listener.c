/* listener.c: runs the process that hears of revocations. */
#include "api/serve/listener.h"

#include <poll.h>

#include "api/serve/follow.h"
#include "common/clock.h"
#include "store/listen.h"

enum { ANSWER_MS = 1000 };

static struct revocations *page; /* the process has no other work */

static void
on_told(void *ctx, const char *name)
{
	(void)ctx;
	revocations_end(page, name);
}

/* Without its triggers the database would tell nothing, and prove it. */
static int
check_triggers(struct store *store, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(store, STMT_AUTH_TOLD, &r, e) < 0)
		return -1;
	if (rows_count(r) > 0)
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE,
	    "the database does not tell of all revocations; run sandlease-admin migrate");
}

/*
 * When to ask again.  A proof is as old as its question when it comes, so a
 * database or machine that is slow to answer is asked sooner.
 */
static int64_t
next_us(int64_t asked_us, int64_t answered_us)
{
	return asked_us + REVOCATIONS_ASK_US - (answered_us - asked_us);
}

/* Counts what is told until then. */
static int
wait_until(struct store *store, int64_t deadline_us, struct err *e)
{
	for (;;) {
		struct pollfd p = { .fd = listen_fd(store), .events = POLLIN };
		int64_t left_us = deadline_us - clock_us();

		if (left_us <= 0)
			return 0;
		if (poll(&p, 1, (int)((left_us + 999) / 1000)) > 0 &&
		    listen_take(store, on_told, NULL, e) < 0)
			return -1;
	}
}

static int
prove_again_and_again(struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	while (!*stopping) {
		int64_t asked_us = clock_us();

		if (listen_prove(store, STMT_AUTH_LISTENS,
			clock_ms() + ANSWER_MS, on_told, NULL, e) < 0)
			return -1;
		revocations_prove(page, asked_us);
		if (wait_until(store, next_us(asked_us, clock_us()), e) < 0)
			return -1;
	}
	return 0;
}

static int
follow_revocations(const struct conf *conf, struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	int rc;

	(void)conf;
	if (store_check_pooling(store, e) < 0 || check_triggers(store, e) < 0 ||
	    listen_begin(store, "sandlease_auth", e) < 0)
		return -1;
	/* nobody has heard of the changes until now */
	revocations_end_all(page);
	rc = prove_again_and_again(store, stopping, e);
	revocations_prove(page, 0);
	return rc;
}

int
listener_run(const struct conf *conf, struct revocations *r)
{
	static const struct follower FOLLOWER = { .process = "sandlease-hear",
		.log = "listener",
		.store = { "sandlease-listener", 1000 },
		.follow = follow_revocations };

	page = r;
	return follow_run(conf, &FOLLOWER);
}
