/* pass.c: one pass over everything that is due. */
#include "reaper/pass.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/awake.h"
#include "control/disk.h"
#include "control/interrupt_control.h"
#include "control/preview_control.h"
#include "control/sandbox_control.h"
#include "control/session_control.h"
#include "control/stop.h"
#include "control/suspend.h"
#include "reaper/reconcile.h"

#define BATCH "50"

bool
pass_has_time(const struct pass *p)
{
	return clock_left_ms(p->deadline_ms) > 0;
}

void
pass_failed(struct pass *p, const char *part, const struct err *e)
{
	p->errors++;
	log_err(LOG_WARN, part, e);
}

static const char *
session_of(const struct rows *r, size_t i)
{
	return rows_text(r, i, "session_id");
}

/* ---- what to do with one row of each kind; -1 counts as a failure */

static int
do_watchdog(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return STORE_RUN(p->ctl->store, STMT_STOP_EXPIRED, NULL, e,
	    session_of(r, i), rows_text(r, i, "attempt_id"));
}

/*
 * A wrapper that has work is kept, and that it does is as good as activity.
 * One that cannot be asked is left for the next pass.
 */
static int
spare_if_busy(struct pass *p, const struct rows *r, size_t i, bool *spared,
    struct err *e)
{
	struct session_row s;

	if (control_session(p->ctl, session_of(r, i), "", &s, e) < 0 ||
	    session_control_busy(p->ctl, &s, spared, e) < 0)
		return -1;
	if (!*spared)
		return 0;
	return STORE_RUN(p->ctl->store, STMT_SESSION_KEEP_WARM, NULL, e, s.id,
	    rows_text(r, i, "generation"));
}

/* Work that was accepted repairs a startup deadline; else it has failed. */
static int
do_late_start(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	bool spared;

	if (spare_if_busy(p, r, i, &spared, e) < 0)
		return -1;
	if (spared)
		return 0;
	p->failed_starts++;
	if (stop_failed_start(p->ctl, session_of(r, i),
		rows_int(r, i, "generation"),
		"it was not ready within its time", e) < 0)
		return -1;
	return stop_attempt(p->ctl, session_of(r, i), e);
}

/* Asked first; the stop is dropped if somebody came meanwhile. */
static int
do_idle(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	bool spared;

	if (awake_spare(p->ctl, session_of(r, i), rows_int(r, i, "generation"),
		&spared, e) < 0)
		return -1;
	if (spared)
		return 0;
	p->slept++;
	if (rows_bool(r, i, "suspend"))
		return suspend_session(p->ctl, session_of(r, i), "idle-timeout",
		    rows_int(r, i, "activity_seq"), e);
	if (stop_request(p->ctl, session_of(r, i), STOP_SLEEP, "idle-timeout",
		NULL, rows_int(r, i, "activity_seq"), e) < 0)
		return -1;
	return stop_attempt(p->ctl, session_of(r, i), e);
}

/* It has run as long as it may: busy or not, kept alive or not. */
static int
do_run_time(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	p->slept++;
	if (stop_request(p->ctl, session_of(r, i), STOP_SLEEP, "too-old",
		"max_run_time", -1, e) < 0)
		return -1;
	return stop_attempt(p->ctl, session_of(r, i), e);
}

static int
do_suspend(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return suspend_repair(p->ctl, session_of(r, i), e);
}

static int
do_interrupt(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return interrupt_finish(p->ctl, session_of(r, i),
	    rows_text(r, i, "interrupt_id"), rows_int(r, i, "age_ms"),
	    rows_bool(r, i, "over"), e);
}

static int
do_expired(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	bool gone;

	if (stop_request(p->ctl, session_of(r, i), STOP_DELETE,
		"session-delete", "expired", -1, e) < 0 ||
	    stop_attempt(p->ctl, session_of(r, i), e) < 0)
		return -1;
	p->deleted++;
	return stop_finish_delete(p->ctl, session_of(r, i), &gone, e);
}

static int
do_stop(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	p->stopped++;
	return stop_attempt(p->ctl, session_of(r, i), e);
}

static int
do_deletion(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	bool gone = false;
	int rc = stop_finish_delete(p->ctl, session_of(r, i), &gone, e);

	p->deleted += gone;
	return rc;
}

static int
do_sleeper(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return STORE_RUN(p->ctl->store, STMT_SETTLE_SLEEPER, NULL, e,
	    session_of(r, i));
}

static int
retire(struct pass *p, const struct rows *r, size_t i, bool destroy,
    struct err *e)
{
	bool done = false;
	int rc = sandbox_control_retire(p->ctl, rows_text(r, i, "id"),
	    rows_text(r, i, "incarnation"), destroy, &done, e);

	p->retired += done;
	return rc;
}

static int
do_idle_sandbox(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return retire(p, r, i, false, e);
}

static int
do_destroy(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return retire(p, r, i, true, e);
}

static int
do_port(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	(void)e;
	preview_close(p->ctl, session_of(r, i), rows_int(r, i, "port"));
	return 0;
}

/* ---- the parts, in the order of their urgency */

enum { PARAM_LIMIT = 1, PARAM_HOST = 2, PARAM_IDLE = 4 };

struct part {
	const char *name;
	enum stmt due;
	unsigned params;
	bool looks_only; /* the statement itself changes nothing */
	int (*act)(struct pass *p, const struct rows *r, size_t i,
	    struct err *e);
};

/* clang-format off */
static const struct part PARTS[] = {
	{ "stop_watchdogs", STMT_DUE_STOP_WATCHDOGS, PARAM_LIMIT, true,  do_watchdog },
	{ "late_starts",    STMT_DUE_STARTS,         PARAM_LIMIT, true,  do_late_start },
	{ "expired",        STMT_DUE_EXPIRED,        PARAM_LIMIT, true,  do_expired },
	{ "interrupts",     STMT_DUE_INTERRUPTS,     PARAM_LIMIT, true,  do_interrupt },
	{ "suspends",       STMT_DUE_SUSPENDS,       PARAM_LIMIT, true,  do_suspend },
	{ "run_time",       STMT_DUE_RUN_TIME,       PARAM_LIMIT, true,  do_run_time },
	{ "idle",           STMT_DUE_WARM,           PARAM_LIMIT, true,  do_idle },
	{ "stops",          STMT_DUE_STOPS,          PARAM_LIMIT, true,  do_stop },
	{ "deletions",      STMT_DUE_DELETIONS,      PARAM_LIMIT, true,  do_deletion },
	{ "sleepers",       STMT_DUE_SLEEPERS,       PARAM_LIMIT, true,  do_sleeper },
	{ "expired_ports",  STMT_PORTS_EXPIRED,      PARAM_LIMIT, false, do_port },
	{ "idle_sandboxes", STMT_DUE_IDLE_SANDBOXES, PARAM_HOST | PARAM_IDLE | PARAM_LIMIT, true, do_idle_sandbox },
	{ "destroys",       STMT_DUE_DESTROYS,       PARAM_HOST | PARAM_LIMIT, true, do_destroy },
};
/* clang-format on */

static int
find_due(struct pass *p, const struct part *part, struct rows **r,
    struct err *e)
{
	const struct conf *conf = p->ctl->conf;
	const char *params[4] = { NULL };
	char idle[24];
	size_t n = 0;

	snprintf(idle, sizeof(idle), "%" PRId64, conf->sandbox_idle_seconds);
	if ((part->params & PARAM_HOST) != 0)
		params[++n] = conf->host_name;
	if ((part->params & PARAM_IDLE) != 0)
		params[++n] = idle;
	if ((part->params & PARAM_LIMIT) != 0)
		params[++n] = BATCH;
	return store_run(p->ctl->store, part->due, params, n, r, e);
}

/*
 * Batches until nothing is due.  A batch in which nothing could be done ends
 * the part: what fails now is for the next pass.
 */
static void
run_part(struct pass *p, const struct part *part)
{
	while (pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };
		size_t done = 0;

		if (p->dry_run && !part->looks_only)
			return;
		if (find_due(p, part, &r, &e) < 0) {
			pass_failed(p, part->name, &e);
			return;
		}
		p->scanned += (int64_t)rows_count(r);
		for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
			if (p->dry_run)
				printf("%s: %s\n", part->name,
				    rows_text(r, i,
					(part->params & PARAM_HOST) != 0
					    ? "id"
					    : "session_id"));
			else if (part->act(p, r, i, &e) < 0)
				pass_failed(p, part->name, &e);
			else
				done++;
		}
		if (p->dry_run || done == 0 || rows_count(r) < 50)
			return;
	}
}

static void
forget(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };
	char days[24];
	bool left;

	snprintf(days, sizeof(days), "%" PRId64, p->ctl->conf->retention_days);
	if (STORE_RUN(p->ctl->store, STMT_FORGET_OLD, &r, &e, days) < 0)
		pass_failed(p, "retention", &e);
	if (p->ctl->provider.ops->sweep(&p->ctl->provider, p->deadline_ms,
		&left, &e) < 0)
		pass_failed(p, "trash", &e);
}

/* What is low, who is over his limit, what is promised. */
static void
look_at_disk(struct pass *p)
{
	struct err e = { 0 };

	if (disk_guard(p->ctl, &e) < 0 || disk_tell(p->ctl, &e) < 0)
		pass_failed(p, "disk_guard", &e);
	if (disk_account(p->ctl, p->deadline_ms, &e) < 0)
		pass_failed(p, "disk_account", &e);
	if (p->ctl->conf->disk_budget_mb > 0 &&
	    STORE_RUN(p->ctl->store, STMT_DISK_RECOUNT, NULL, &e,
		p->ctl->conf->host_name) < 0)
		pass_failed(p, "disk_recount", &e);
}

void
pass_run(struct pass *p)
{
	for (size_t i = 0; i < ARRAY_LEN(PARTS) && pass_has_time(p); i++)
		run_part(p, &PARTS[i]);
	if (!p->dry_run)
		look_at_disk(p);
	reconcile(p);
	if (!p->dry_run)
		forget(p);
}
