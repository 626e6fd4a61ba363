/* reconcile.c: rows without sandboxes, sandboxes without rows. */
#include "reaper/reconcile.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/sandbox_control.h"
#include "reaper/plan.h"

enum { END_MS = 15000 };

/* Both sides of the comparison. */
struct world {
	struct rows *rows;
	struct sandbox_seen *seen;
	size_t seen_count;
};

static const enum plan_sight SIGHTS[PRESENCE__MAX] = {
	[PRESENCE_RUNNING] = PLAN_RUNNING,
	[PRESENCE_STOPPED] = PLAN_STOPPED,
	[PRESENCE_ABSENT] = PLAN_ABSENT,
	[PRESENCE_UNKNOWN] = PLAN_UNKNOWN,
};

static const struct sandbox_seen *
find_seen(const struct world *w, const char *id)
{
	for (size_t i = 0; i < w->seen_count; i++)
		if (str_equal(w->seen[i].id, id))
			return &w->seen[i];
	return NULL;
}

static bool
find_row(const struct world *w, const char *id, size_t *row)
{
	for (*row = 0; *row < rows_count(w->rows); (*row)++)
		if (str_equal(rows_text(w->rows, *row, "id"), id))
			return true;
	return false;
}

static struct plan_row
describe(const struct pass *p, const struct world *w, size_t row,
    const struct sandbox_seen *seen)
{
	const char *state = rows_text(w->rows, row, "state");
	const char *host = rows_text(w->rows, row, "host");

	return (struct plan_row){
		.known = true,
		.wanted =
		    str_equal(state, "creating") || str_equal(state, "running"),
		.ended = str_equal(state, "absent"),
		.used = rows_bool(w->rows, row, "used"),
		.other_host = host[0] != '\0' &&
		    !str_equal(host, p->ctl->conf->host_name),
		.other_boot = !str_equal(rows_text(w->rows, row, "boot_id"),
		    p->ctl->provider.boot_id),
		.same_incarnation = seen != NULL &&
		    str_equal(rows_text(w->rows, row, "incarnation"),
			seen->incarnation),
		.deadline_passed = rows_bool(w->rows, row, "overdue"),
	};
}

static int
mark_stopped(struct pass *p, const char *id, const char *incarnation,
    struct err *e)
{
	size_t sessions = 0;
	int rc;

	if (control_lock(p->ctl, id, e) < 0)
		return -1;
	rc = sandbox_control_gone(p->ctl, id, incarnation, &sessions, e);
	control_unlock(p->ctl, id);
	p->gone += (int64_t)sessions;
	return rc;
}

/* No row knows it: destroyed once it was seen twice over five minutes. */
static int
sight_unknown(struct pass *p, const struct sandbox_seen *seen, struct err *e)
{
	const struct provider *pr = &p->ctl->provider;
	const char *host = p->ctl->conf->host_name;
	auto_rows struct rows *r = NULL;

	p->orphans++;
	if (STORE_RUN(p->ctl->store, STMT_SIGHTING_ADD, &r, e, host, seen->id) <
	    0)
		return -1;
	if (!rows_bool(r, 0, "ripe"))
		return 0;
	if (pr->ops->destroy(pr, seen->id, seen->incarnation,
		clock_ms() + END_MS, e) < 0)
		return err_wrap(e, "orphan %s", seen->id);
	return STORE_RUN(p->ctl->store, STMT_SIGHTING_CLEAR, NULL, e, host,
	    seen->id);
}

static int
carry_out(struct pass *p, enum plan_action action, const char *id,
    const char *incarnation, const struct sandbox_seen *seen, struct err *e)
{
	const struct provider *pr = &p->ctl->provider;

	switch (action) {
	case PLAN_MARK_STOPPED:
		return mark_stopped(p, id, incarnation, e);
	case PLAN_STOP_OLD:
		return pr->ops->stop(pr, id, seen->incarnation,
		    clock_ms() + END_MS, e);
	case PLAN_SIGHT_UNKNOWN:
		return sight_unknown(p, seen, e);
	case PLAN_NOTHING:
	case PLAN__MAX:
		break;
	}
	return 0;
}

static void
decide(struct pass *p, const struct plan_row *row, const char *id,
    const char *incarnation, const struct sandbox_seen *seen)
{
	static const char *const WORDS[PLAN__MAX] = { "nothing", "mark_stopped",
		"stop_old", "sight_unknown" };
	enum plan_action a = plan_sandbox(row,
	    seen != NULL ? SIGHTS[seen->presence] : PLAN_ABSENT);
	struct err e = { 0 };

	p->scanned++;
	if (a == PLAN_NOTHING)
		return;
	if (p->dry_run) {
		printf("%s: %s\n", WORDS[a], id);
		return;
	}
	if (carry_out(p, a, id, incarnation, seen, &e) < 0)
		pass_failed(p, "reconcile", &e);
}

static int
look_around(struct pass *p, struct world *w, struct err *e)
{
	const struct provider *pr = &p->ctl->provider;

	/* first what runs, then the rows: a row made meanwhile is only newer */
	if (pr->ops->list(pr, &w->seen, &w->seen_count, e) < 0)
		return -1;
	return STORE_RUN(p->ctl->store, STMT_SANDBOX_ROWS, &w->rows, e);
}

static void
release_world(struct world *w)
{
	mem_free_ptr(&w->seen);
	rows_free(&w->rows);
}

void
reconcile(struct pass *p)
{
	__attribute__((cleanup(release_world))) struct world w = { 0 };
	auto_rows struct rows *lock = NULL;
	struct err e = { 0 };
	size_t row;

	if (!pass_has_time(p))
		return;
	if (STORE_RUN(p->ctl->store, STMT_PASS_LOCK, &lock, &e,
		p->ctl->conf->host_name) < 0 ||
	    (rows_bool(lock, 0, "locked") && look_around(p, &w, &e) < 0)) {
		pass_failed(p, "reconcile", &e);
		return;
	}
	if (!rows_bool(lock, 0, "locked"))
		return; /* another reaper is at it on this host */
	for (row = 0; row < rows_count(w.rows) && pass_has_time(p); row++) {
		const char *id = rows_text(w.rows, row, "id");
		const struct sandbox_seen *seen = find_seen(&w, id);
		struct plan_row d = describe(p, &w, row, seen);

		decide(p, &d, id, rows_text(w.rows, row, "incarnation"), seen);
	}
	for (size_t i = 0; i < w.seen_count && pass_has_time(p); i++) {
		static const struct plan_row NO_ROW = { .known = false };

		if (!find_row(&w, w.seen[i].id, &row))
			decide(p, &NO_ROW, w.seen[i].id, "", &w.seen[i]);
	}
}
