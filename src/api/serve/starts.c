/* starts.c: runs the process that continues starts without a client. */
#include "api/serve/starts.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/child.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/control.h"
#include "control/start.h"
#include "store/listen.h"

/*
 * A worker that leaves a start notifies this process.  A worker that died
 * cannot, so the process also looks every LOOK_MS.  After ROUND_MS the list is
 * read again: one tenant with many starts must not delay the starts of others
 * that came later.
 */
enum {
	LOOK_MS = 5000,
	ROUND_MS = 1000,
	BETWEEN_MS = 100,
	AGAIN_US = 900 * 1000
};

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
		    listen_wait(store, -1, next_ms, &why, e) < 0)
			return -1;
	return 0;
}

int
starts_run(const struct conf *conf)
{
	static const struct store_options OPTIONS = { "sandlease-starts",
		5000 };
	struct store *store = store_new(conf->database, &OPTIONS);
	const volatile sig_atomic_t *stopping = child_signals();
	char last[ERR_MSG_MAX] = "";
	struct err e = { 0 };

	prctl(PR_SET_NAME, "sandlease-start");
	while (!*stopping && follow_starts(conf, store, stopping, &e) < 0) {
		if (!str_equal(e.msg, last)) /* once, not with every try */
			log_err(LOG_WARN, "starts", &e);
		str_copy(last, sizeof(last), e.msg);
		store_disconnect(store);
		usleep(AGAIN_US);
	}
	store_free(store);
	return EXIT_SUCCESS;
}
