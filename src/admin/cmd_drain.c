/* cmd_drain.c: stops admission and all sessions, or admits sessions again. */
#include <stdio.h>
#include <time.h>

#include "admin/commands.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/control.h"
#include "control/sandbox_control.h"
#include "control/stop.h"
#include "control/warm.h"

enum { TIMEOUT_DEFAULT_S = 120, TIMEOUT_MAX_S = 3600, PAUSE_MS = 500 };

static int
set_draining(struct admin *a, const char *on, struct err *e)
{
	return STORE_RUN(a->store, STMT_SET_DRAINING, NULL, e, on);
}

/* Ends the members of the warm pool; creates claim none any more. */
static int
end_members(struct admin *a, struct control *ctl, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct err why = { 0 };

	if (STORE_RUN(a->store, STMT_DRAIN_MEMBERS, &r, e, a->conf->host_name) <
	    0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++)
		if (warm_end(ctl, rows_text(r, i, "session_id"),
			rows_text(r, i, "sandbox_id"),
			rows_text(r, i, "incarnation"), &why) < 0)
			log_err(LOG_WARN, "drain", &why);
	return 0;
}

/* Stops each session and sandbox once.  Failures are logged; the next round
 * tries again. */
static int
drain_once(struct admin *a, struct control *ctl, struct err *e)
{
	auto_rows struct rows *s = NULL, *b = NULL;
	struct err why = { 0 };

	if (STORE_RUN(a->store, STMT_DRAIN_REQUESTS, &s, e) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(s); i++) {
		const char *id = rows_text(s, i, "session_id");

		if (stop_request(ctl, id, STOP_SLEEP, "shutdown", NULL, -1,
			&why) < 0 ||
		    stop_attempt(ctl, id, &why) < 0)
			log_err(LOG_WARN, "drain", &why);
	}
	if (STORE_RUN(a->store, STMT_DRAIN_SANDBOXES, &b, e,
		a->conf->host_name) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(b); i++) {
		bool done;

		if (sandbox_control_retire(ctl, rows_text(b, i, "id"),
			rows_text(b, i, "incarnation"), false, &done, &why) < 0)
			log_err(LOG_WARN, "drain", &why);
	}
	return end_members(a, ctl, e);
}

/* Counts the leases and sandboxes that are not gone yet. */
static int
count_left(struct admin *a, int64_t *leases, int64_t *sandboxes, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(a->store, STMT_DRAIN_LEFT, &r, e) < 0)
		return -1;
	*leases = rows_int(r, 0, "leases");
	*sandboxes = rows_int(r, 0, "sandboxes");
	return 0;
}

int
cmd_drain(struct admin *a, struct err *e)
{
	const char *text = admin_option(a, "--timeout");
	int64_t seconds = TIMEOUT_DEFAULT_S, leases = 0, sandboxes = 0;
	int64_t deadline;
	struct control ctl;

	if (text != NULL && !str_to_int(text, 0, TIMEOUT_MAX_S, &seconds))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--timeout must be a number of seconds from 0 to 3600");
	if (admin_no_more(a, e) < 0 || set_draining(a, "true", e) < 0 ||
	    control_open(a->conf, a->store, &ctl, e) < 0)
		return -1;
	str_copy(ctl.trace, sizeof(ctl.trace), "drain");
	deadline = clock_ms() + seconds * 1000;
	for (;;) {
		struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000 };

		if (drain_once(a, &ctl, e) < 0 ||
		    count_left(a, &leases, &sandboxes, e) < 0)
			return -1;
		if (leases == 0 && sandboxes == 0)
			break;
		if (clock_left_ms(deadline) == 0)
			return err_set(e, ERR_UNAVAILABLE, CODE_NOT_DRAINED,
			    "%lld leases and %lld sandboxes are not gone yet; the reaper continues to stop them",
			    (long long)leases, (long long)sandboxes);
		/* against a busy loop; each stop has a back-off of its own */
		nanosleep(&pause, NULL);
	}
	printf("drained: every session sleeps, nothing runs\n");
	return 0;
}

int
cmd_undrain(struct admin *a, struct err *e)
{
	if (admin_no_more(a, e) < 0 || set_draining(a, "false", e) < 0)
		return -1;
	printf("sessions are admitted again\n");
	return 0;
}
