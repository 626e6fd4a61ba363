/* clear.c: removes what stops leave behind, and what is past its time. */
#include "reaper/clear.h"

#include <stdio.h>

#include "common/mem.h"
#include "control/finish.h"
#include "control/inventory.h"
#include "control/sandbox_control.h"
#include "control/wave.h"

enum { FORGET_BATCH = 1000 };

static struct pass_number
batch_of(const struct pass *p)
{
	return pass_number(p->ctl->conf->reaper_batch);
}

static void
print_rows(const char *part, const char *column, const struct rows *r)
{
	for (size_t i = 0; i < rows_count(r); i++)
		printf("%s: %s\n", part, rows_text(r, i, column));
}

void
clear_deletions(struct pass *p)
{
	struct finish_count n = { .found = 1 };
	struct err e = { 0 };

	while (!p->dry_run && n.found > 0 && pass_has_time(p)) {
		if (finish_due(p->ctl, p->ctl->conf->reaper_batch, p->left, &n,
			&e) < 0) {
			pass_failed(p, "deletions", &e);
			return;
		}
		p->scanned += (int64_t)n.found;
		p->deleted += (int64_t)n.done;
		p->errors += (int64_t)n.failed;
	}
}

void
clear_sleepers(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (p->dry_run)
		return;
	if (STORE_RUN(p->ctl->store, STMT_SETTLE_SLEEPERS, &r, &e,
		pass_number(FORGET_BATCH).text, p->ctl->trace) < 0)
		pass_failed(p, "sleepers", &e);
	else
		p->scanned += rows_int(r, 0, "settled");
}

void
clear_failed_files(struct pass *p)
{
	const struct conf *conf = p->ctl->conf;
	size_t found = (size_t)conf->reaper_batch;

	while (found == (size_t)conf->reaper_batch && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };
		bool done;

		if (STORE_RUN(p->ctl->store, STMT_DUE_FAILED_FILES, &r, &e,
			conf->host_name,
			pass_number(conf->failed_files_seconds).text,
			batch_of(p).text) < 0) {
			pass_failed(p, "failed_files", &e);
			return;
		}
		found = rows_count(r);
		p->scanned += (int64_t)found;
		if (p->dry_run) {
			print_rows("failed_files", "session_id", r);
			return;
		}
		for (size_t i = 0; i < found && pass_has_time(p); i++)
			if (finish_failed(p->ctl, rows_text(r, i, "session_id"),
				rows_text(r, i, "sandbox_id"), &done, &e) < 0)
				pass_failed(p, "failed_files", &e);
			else
				p->removed += done;
	}
}

/* ---- sandboxes */

/* Returns how many were ended; failed ones are for the next pass. */
static int64_t
retire_sandboxes(struct pass *p, const char *part, const struct rows *r,
    bool destroy)
{
	struct sandbox_end ends[WAVE_MAX] = { 0 };
	size_t n = rows_count(r);
	int64_t done = 0;

	for (size_t i = 0; i < n; i++) {
		ends[i].id = rows_text(r, i, "id");
		ends[i].incarnation = rows_text(r, i, "incarnation");
	}
	sandbox_control_retire_all(p->ctl, ends, n, destroy);
	for (size_t i = 0; i < n; i++) {
		done += ends[i].done;
		if (ends[i].why.kind != ERR_NONE)
			pass_failed(p, part, &ends[i].why);
	}
	p->retired += done;
	return done;
}

void
clear_idle_sandboxes(struct pass *p)
{
	const struct conf *conf = p->ctl->conf;
	int64_t done = 1;

	while (done > 0 && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_DUE_IDLE_SANDBOXES, &r, &e,
			conf->host_name,
			pass_number(conf->sandbox_idle_seconds).text,
			batch_of(p).text) < 0) {
			pass_failed(p, "idle_sandboxes", &e);
			return;
		}
		p->scanned += (int64_t)rows_count(r);
		if (p->dry_run) {
			print_rows("idle_sandboxes", "id", r);
			return;
		}
		done = retire_sandboxes(p, "idle_sandboxes", r, false);
	}
}

void
clear_destroys(struct pass *p)
{
	int64_t done = 1;

	while (done > 0 && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_DUE_DESTROYS, &r, &e,
			p->ctl->conf->host_name, batch_of(p).text) < 0) {
			pass_failed(p, "destroys", &e);
			return;
		}
		p->scanned += (int64_t)rows_count(r);
		if (p->dry_run) {
			print_rows("destroys", "id", r);
			return;
		}
		done = retire_sandboxes(p, "destroys", r, true);
	}
}

/* ---- past their time */

void
clear_forgotten(struct pass *p)
{
	struct pass_number days = pass_number(p->ctl->conf->retention_days);
	struct pass_number limit = pass_number(FORGET_BATCH);
	struct pass_number most = pass_number(p->ctl->conf->retention_sessions);
	int64_t forgotten = FORGET_BATCH;
	struct err e = { 0 };

	while (!p->dry_run && forgotten >= FORGET_BATCH && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;

		if (STORE_RUN(p->ctl->store, STMT_FORGET_OLD, &r, &e, days.text,
			limit.text, most.text) < 0 ||
		    STORE_RUN(p->ctl->store, STMT_FORGET_SANDBOXES, NULL, &e,
			limit.text) < 0) {
			pass_failed(p, "retention", &e);
			return;
		}
		forgotten = rows_int(r, 0, "forgotten");
	}
}

void
clear_trash(struct pass *p)
{
	struct err e = { 0 };

	if (!p->dry_run &&
	    inventory_sweep_trash(p->ctl, p->deadline_ms, &e) < 0)
		pass_failed(p, "trash", &e);
}
