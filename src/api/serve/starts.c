/* starts.c: the process that goes on with starts and executions without a client. */
#include "api/serve/starts.h"

#include "api/serve/follow.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/control.h"
#include "control/execution_control.h"
#include "control/start.h"
#include "store/listen.h"

/*
 * A worker that leaves a start notifies this process.  A worker that died
 * cannot, so the process also looks every LOOK_MS.  After ROUND_MS the list is
 * read again: one tenant with many starts must not delay the starts of others
 * that came later.
 */
enum { LOOK_MS = 5000, ROUND_MS = 1000, BETWEEN_MS = 100, START_MS = 2000 };

/* Continues due starts; *next_ms is when (by clock_ms()) to look again. */
static int
move_starts_on(struct control *ctl, const volatile sig_atomic_t *stopping,
    int64_t *next_ms, struct err *e)
{
	auto_rows struct rows *r = NULL;
	int64_t end_ms = clock_ms() + ROUND_MS;
	size_t i = 0;

	if (STORE_RUN(ctl->store, STMT_DUE_INITIALIZING, &r, e,
		ctl->conf->host_name) < 0)
		return -1;
	while (i < rows_count(r) && !*stopping && clock_left_ms(end_ms) > 0)
		start_move_on(ctl, rows_text(r, i++, "session_id"), "");
	*next_ms = clock_ms() + (i < rows_count(r) ? BETWEEN_MS : LOOK_MS);
	return 0;
}

/* Gives the executions that are due; *next_ms as above. */
static int
give_executions(struct control *ctl, const volatile sig_atomic_t *stopping,
    int64_t *next_ms, struct err *e)
{
	auto_rows struct rows *r = NULL;
	int64_t end_ms = clock_ms() + ROUND_MS, began_ms = clock_ms();

	if (STORE_RUN(ctl->store, STMT_EXECUTIONS_DUE, &r, e,
		ctl->conf->host_name) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r) && !*stopping; i++) {
		int64_t due_ms = began_ms + rows_int(r, i, "due_ms");
		struct err why = { 0 };

		if (due_ms > began_ms || clock_left_ms(end_ms) == 0) {
			*next_ms = due_ms < *next_ms ? due_ms : *next_ms;
			break;
		}
		if (execution_deliver(ctl, rows_text(r, i, "session_id"),
			clock_ms() + START_MS, &why) == 0)
			continue;
		log_err(LOG_INFO, "execution_deliver", &why);
		/* else it would be the first again, before all others */
		if (STORE_RUN(ctl->store, STMT_EXECUTIONS_PUT_OFF, NULL, e,
			rows_text(r, i, "session_id")) < 0)
			return -1;
	}
	return 0;
}

/* Listens before the first look, so that no notification is missed. */
static int
follow_starts(const struct conf *conf, struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	enum listen_why why;
	struct control ctl;
	int64_t next_ms;

	if (control_open(conf, store, &ctl, e) < 0 ||
	    listen_begin(store, "sandlease_starts", e) < 0)
		return -1;
	while (!*stopping)
		if (move_starts_on(&ctl, stopping, &next_ms, e) < 0 ||
		    give_executions(&ctl, stopping, &next_ms, e) < 0 ||
		    listen_wait(store, -1, next_ms, &why, e) < 0)
			return -1;
	return 0;
}

int
starts_run(const struct conf *conf)
{
	static const struct follower FOLLOWER = { .process = "sandlease-start",
		.log = "starts",
		.store = { "sandlease-starts", 5000 },
		.follow = follow_starts };

	return follow_run(conf, &FOLLOWER);
}
