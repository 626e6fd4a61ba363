/* starts.c: the process that goes on with starts nobody waits for. */
#include "api/starts.h"

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

/* A worker that leaves a start notifies us; one that died cannot: we look. */
enum { LOOK_MS = 5000, AGAIN_US = 900 * 1000 };

static int
go_on(struct control *ctl, const volatile sig_atomic_t *stopping, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_DUE_INITIALIZING, &r, e,
		ctl->conf->host_name) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r) && !*stopping; i++)
		start_move_on(ctl, rows_text(r, i, "session_id"), "");
	return 0;
}

/* Listens first: what is left while it looks is told, too. */
static int
attend(const struct conf *conf, struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	enum listen_why why;
	struct control ctl;

	if (control_open(conf, store, &ctl, e) < 0 ||
	    listen_begin(store, "sandlease_starts", e) < 0)
		return -1;
	while (!*stopping)
		if (go_on(&ctl, stopping, e) < 0 ||
		    listen_wait(store, -1, clock_ms() + LOOK_MS, &why, e) < 0)
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
	while (!*stopping && attend(conf, store, stopping, &e) < 0) {
		if (!str_equal(e.msg, last)) /* once, not with every try */
			log_err(LOG_WARN, "starts", &e);
		str_copy(last, sizeof(last), e.msg);
		store_disconnect(store);
		usleep(AGAIN_US);
	}
	store_free(store);
	return EXIT_SUCCESS;
}
