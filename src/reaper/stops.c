/* stops.c: carries out stop requests, in waves. */
#include "reaper/stops.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/wave.h"
#include "reaper/plan.h"

enum { SILENT_TWICE = 2 };

void
stops_expire_watchdogs(struct pass *p)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	auto_free char *retry = control_spec_text(wave_retry(p->ctl));
	int64_t expired = 1;

	while (expired > 0 && !p->dry_run && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_STOP_WATCHDOGS, &r, &e,
			limit.text, retry, p->ctl->trace) < 0) {
			pass_failed(p, "stop_watchdogs", &e);
			return;
		}
		expired = rows_int(r, 0, "expired");
		p->scanned += expired;
	}
}

/*
 * A sandbox that does not answer twice in a pass is skipped until the next one.
 */
static void
note_silence(struct pass *p, const struct wave *w)
{
	for (size_t i = 0; i < w->count; i++) {
		const struct wave_stop *s = &w->stop[i];
		const char *box = s->s.sandbox.id;
		json_int_t n;

		if (!s->timed_out)
			continue;
		n = json_integer_value(json_object_get(p->silences, box)) + 1;
		json_object_set_new(p->silences, box, json_integer(n));
		if (n == SILENT_TWICE)
			json_array_append_new(p->skip, json_string(box));
	}
}

/*
 * Runs one wave.  Returns how many stops it claimed; 0 when there was nothing,
 * or it failed.
 */
static size_t
run_wave(struct pass *p, bool retries)
{
	const struct wave_options options = { .retries = retries,
		.limit = p->ctl->conf->reaper_batch,
		.skip = p->skip };
	auto_wave struct wave *w = NULL;
	struct err e = { 0 };

	if (wave_claim(p->ctl, &options, &w, &e) < 0) {
		pass_failed(p, "stops", &e);
		return 0;
	}
	p->scanned += (int64_t)w->count;
	if (wave_run(p->ctl, w, &e) < 0)
		pass_failed(p, "stops", &e);
	for (size_t i = 0; i < w->count; i++) {
		if (w->stop[i].absent)
			p->stopped++;
		else
			p->errors++; /* wave_run() has logged why */
	}
	note_silence(p, w);
	return w->count;
}

static void
run_waves(struct pass *p)
{
	int64_t whole = p->ctl->conf->reaper_pass_seconds * 1000, spent = 0;

	while (pass_has_time(p)) {
		int64_t began = clock_ms();

		if (run_wave(p, false) > 0)
			continue;
		if (plan_retry_ms(whole, p->ctl->conf->reaper_retry_percent,
			spent, clock_left_ms(p->deadline_ms)) == 0 ||
		    run_wave(p, true) == 0)
			return;
		spent += clock_ms() - began;
	}
}

/*
 * Logs, in every pass, stops that were often tried in vain, and why they fail.
 */
static void
warn_of_failing(struct pass *p)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	struct pass_number often =
	    pass_number(p->ctl->conf->stop_alert_attempts);
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_STOPS_FAILING, &r, &e, often.text,
		limit.text) < 0)
		pass_failed(p, "stops", &e);
	for (size_t i = 0; r != NULL && i < rows_count(r); i++)
		log_line(LOG_WARN, "stop_fails",
		    "session %s: %s: %s attempts: %s",
		    rows_text(r, i, "session_id"), rows_text(r, i, "reason"),
		    rows_text(r, i, "attempts"), rows_text(r, i, "last_error"));
}

static void
print_due(struct pass *p)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_DUE_STOPS, &r, &e,
		p->ctl->conf->host_name, limit.text) < 0)
		pass_failed(p, "stops", &e);
	for (size_t i = 0; r != NULL && i < rows_count(r); i++)
		printf("stops: %s\n", rows_text(r, i, "session_id"));
}

void
stops_run(struct pass *p)
{
	if (p->dry_run) {
		print_due(p);
		return;
	}
	run_waves(p);
	warn_of_failing(p);
}
