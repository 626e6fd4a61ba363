/*
 * upkeep.c: finishes the work of workers that died, and watches the host's
 * disk.
 */
#include "reaper/upkeep.h"

#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/disk.h"
#include "control/interrupt_control.h"
#include "control/suspend.h"

struct chore {
	const char *part;
	enum stmt due;
	int (*finish)(struct pass *p, const struct rows *r, size_t i,
	    struct err *e);
};

static const char *
session_of(const struct rows *r, size_t i)
{
	return rows_text(r, i, "session_id");
}

/* Runs one batch; the next pass does the rest, and retries what failed. */
static void
run_chore(struct pass *p, const struct chore *c)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, c->due, &r, &e, p->ctl->conf->host_name,
		limit.text) < 0) {
		pass_failed(p, c->part, &e);
		return;
	}
	p->scanned += (int64_t)rows_count(r);
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		if (p->dry_run)
			printf("%s: %s\n", c->part, session_of(r, i));
		else if (c->finish(p, r, i, &e) < 0)
			pass_failed(p, c->part, &e);
	}
}

static int
finish_interrupt(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return interrupt_finish(p->ctl, session_of(r, i),
	    rows_text(r, i, "interrupt_id"), rows_int(r, i, "age_ms"),
	    rows_bool(r, i, "over"), e);
}

static int
finish_suspend(struct pass *p, const struct rows *r, size_t i, struct err *e)
{
	return suspend_repair(p->ctl, session_of(r, i), e);
}

void
upkeep_interrupts(struct pass *p)
{
	run_chore(p,
	    &(struct chore){ "interrupts", STMT_DUE_INTERRUPTS,
		finish_interrupt });
}

void
upkeep_suspends(struct pass *p)
{
	run_chore(p,
	    &(struct chore){ "suspends", STMT_DUE_SUSPENDS, finish_suspend });
}

void
upkeep_disk(struct pass *p)
{
	struct err e = { 0 };

	if (p->dry_run)
		return;
	if (disk_guard(p->ctl, &e) < 0)
		pass_failed(p, "disk_guard", &e);
	if (disk_tell(p->ctl, &e) < 0)
		pass_failed(p, "disk_tell", &e);
	if (disk_account(p->ctl, p->deadline_ms, &e) < 0)
		pass_failed(p, "disk_account", &e);
	if (p->ctl->conf->disk_budget_mb > 0 &&
	    STORE_RUN(p->ctl->store, STMT_DISK_RECOUNT, NULL, &e,
		p->ctl->conf->host_name) < 0)
		pass_failed(p, "disk_recount", &e);
}
