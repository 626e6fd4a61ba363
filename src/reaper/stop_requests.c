/* stop_requests.c: requests the stop of sessions by their rows. */
#include "reaper/stop_requests.h"

#include <stdio.h>

#include "common/mem.h"
#include "control/stop.h"
#include "control/wave.h"

struct stop_rule {
	const char *part;
	enum stmt due;
	int64_t after; /* the statement's first parameter; < 0: it has none */
	enum stop_kind what;
	const char *reason;
	const char *say;
};

static int
find_due(struct pass *p, const struct stop_rule *w, struct rows **r,
    struct err *e)
{
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	struct pass_number after = pass_number(w->after);

	if (w->after < 0)
		return STORE_RUN(p->ctl->store, w->due, r, e, limit.text);
	return STORE_RUN(p->ctl->store, w->due, r, e, after.text, limit.text);
}

/* Returns how many rows it changed; -1 when it failed. */
static int64_t
request_stop_batch(struct pass *p, const struct stop_rule *w,
    const struct rows *r, struct err *e)
{
	struct stop_subject who[WAVE_MAX];
	size_t changed, n = rows_count(r);

	for (size_t i = 0; i < n; i++)
		who[i] = (struct stop_subject){ .session = rows_text(r, i,
						    "session_id"),
			.seen_row = rows_text(r, i, "seen_row"),
			.seen_activity = -1 };
	if (stop_request_all(p->ctl, who, n, w->what, w->reason, w->say,
		&changed, e) < 0)
		return -1;
	return (int64_t)changed;
}

static void
print_sessions(const char *part, const struct rows *r)
{
	for (size_t i = 0; i < rows_count(r); i++)
		printf("%s: %s\n", part, rows_text(r, i, "session_id"));
}

/*
 * Works in batches until nothing is due.  A batch that changed nothing ends it,
 * too: the next one would be the same.
 */
static int64_t
request_stops(struct pass *p, const struct stop_rule *w)
{
	int64_t all = 0, changed = 1;

	while (changed > 0 && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (find_due(p, w, &r, &e) < 0) {
			pass_failed(p, w->part, &e);
			return all;
		}
		p->scanned += (int64_t)rows_count(r);
		if (p->dry_run) {
			print_sessions(w->part, r);
			return 0;
		}
		if (rows_count(r) == 0)
			break;
		changed = request_stop_batch(p, w, r, &e);
		if (changed < 0)
			pass_failed(p, w->part, &e);
		else
			all += changed;
	}
	return all;
}

void
request_stop_orphans(struct pass *p)
{
	p->orphans += request_stops(p,
	    &(struct stop_rule){ "orphans", STMT_DUE_ORPHANS,
		p->ctl->conf->orphan_seconds, STOP_FAIL, "orphaned",
		"it was initializing for too long" });
}

void
request_stop_expired(struct pass *p)
{
	request_stops(p,
	    &(struct stop_rule){ "expired", STMT_DUE_EXPIRED, -1, STOP_DELETE,
		"session-delete", "expired" });
}

/* The wrapper has run as long as it may: busy or not, kept alive or not. */
void
request_stop_run_time(struct pass *p)
{
	p->slept += request_stops(p,
	    &(struct stop_rule){ "run_time", STMT_DUE_RUN_TIME, -1, STOP_SLEEP,
		"too-old", "max_run_time" });
}

void
request_stop_old(struct pass *p)
{
	p->old += request_stops(p,
	    &(struct stop_rule){ "old", STMT_DUE_OLD,
		p->ctl->conf->too_old_seconds, STOP_SLEEP, "too-old", NULL });
}

void
request_stop_retention(struct pass *p)
{
	request_stops(p,
	    &(struct stop_rule){ "retention", STMT_DUE_RETENTION,
		p->ctl->conf->retention_days, STOP_DELETE, "session-delete",
		"retention" });
}

/* Requests the stop of leases only: their sessions' rows are gone. */
static int
stop_leases(struct pass *p, const struct rows *r, int64_t *n, struct err *e)
{
	auto_rows struct rows *done = NULL;
	auto_free char *spec = NULL;
	json_t *ids = json_array();

	for (size_t i = 0; i < rows_count(r); i++)
		json_array_append_new(ids,
		    json_string(rows_text(r, i, "session_id")));
	spec = control_spec_text(json_pack("{s:o, s:s, s:s}", "sessions", ids,
	    "reason", "orphaned", "trace", p->ctl->trace));
	if (STORE_RUN(p->ctl->store, STMT_STOP_LOST_LEASES, &done, e, spec) < 0)
		return -1;
	*n = (int64_t)rows_count(done);
	return 0;
}

void
request_stop_lost_leases(struct pass *p)
{
	struct pass_number after = pass_number(p->ctl->conf->orphan_seconds);
	struct pass_number limit = pass_number(p->ctl->conf->reaper_batch);
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };
	int64_t n = 0;

	if (STORE_RUN(p->ctl->store, STMT_DUE_LOST_LEASES, &r, &e, after.text,
		limit.text) < 0) {
		pass_failed(p, "lost_leases", &e);
		return;
	}
	p->scanned += (int64_t)rows_count(r);
	if (p->dry_run)
		print_sessions("lost_leases", r);
	else if (rows_count(r) > 0 && stop_leases(p, r, &n, &e) < 0)
		pass_failed(p, "lost_leases", &e);
	p->orphans += n;
}
