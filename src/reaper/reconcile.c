/* reconcile.c: finds rows without sandboxes and sandboxes without rows. */
#include "reaper/reconcile.h"

#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/inventory.h"
#include "control/sandbox_control.h"
#include "reaper/leftovers.h"
#include "reaper/members.h"
#include "reaper/plan.h"
#include "reaper/sighting.h"
#include "reaper/snapshots.h"

/* Reads `presence` of inventory_sandboxes(). */
static enum plan_seen
parse_presence(const char *word)
{
	if (str_equal(word, "running"))
		return PLAN_RUNNING;
	if (str_equal(word, "stopped"))
		return PLAN_STOPPED;
	return str_equal(word, "absent") ? PLAN_ABSENT : PLAN_UNKNOWN;
}

static struct plan_row
read_plan_row(const struct pass *p, const struct rows *r, size_t i)
{
	enum sandbox_state state =
	    state_sandbox_parse(rows_text(r, i, "state"));
	const char *host = rows_text(r, i, "host");

	return (struct plan_row){
		.known = rows_bool(r, i, "known"),
		.wanted = state == SANDBOX_CREATING || state == SANDBOX_RUNNING,
		.ended = state == SANDBOX_ABSENT,
		.used = rows_bool(r, i, "used"),
		.other_host = host[0] != '\0' &&
		    !str_equal(host, p->ctl->conf->host_name),
		.other_boot = !str_equal(rows_text(r, i, "boot_id"),
		    control_boot_id(p->ctl)),
		.same_incarnation = str_equal(rows_text(r, i, "incarnation"),
		    rows_text(r, i, "seen_incarnation")),
		.deadline_passed = rows_bool(r, i, "overdue"),
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

/*
 * Notes a sandbox that no row knows, and destroys it once it was seen twice
 * over some time.
 */
static int
sight_unknown(struct pass *p, const char *id, const char *incarnation,
    struct err *e)
{
	auto_free char *thing = xasprintf("%s%s", SIGHTING_SANDBOX, id);
	bool ripe;

	p->orphans++;
	p->leaked++;
	if (sighting_add(p, thing, &ripe, e) < 0)
		return -1;
	if (!ripe)
		return 0;
	if (inventory_destroy_sandbox(p->ctl, id, incarnation, e) < 0)
		return err_wrap(e, "orphan %s", id);
	p->removed++;
	return sighting_end(p, thing, e);
}

static int
carry_out_action(struct pass *p, enum plan_action action, const struct rows *r,
    size_t i, struct err *e)
{
	const char *id = rows_text(r, i, "id");
	const char *seen = rows_text(r, i, "seen_incarnation");

	switch (action) {
	case PLAN_MARK_STOPPED:
		return mark_stopped(p, id, rows_text(r, i, "incarnation"), e);
	case PLAN_STOP_OLD:
		return inventory_stop_sandbox(p->ctl, id, seen, e);
	case PLAN_SIGHT_UNKNOWN:
		return sight_unknown(p, id, seen, e);
	case PLAN_NOTHING:
	case PLAN__MAX:
		break;
	}
	return 0;
}

static void
settle_sandbox(struct pass *p, const struct rows *r, size_t i)
{
	static const char *const WORDS[PLAN__MAX] = { "nothing", "mark_stopped",
		"stop_old", "sight_unknown" };
	const struct plan_row row = read_plan_row(p, r, i);
	enum plan_action a =
	    plan_sandbox(&row, parse_presence(rows_text(r, i, "presence")));
	struct err e = { 0 };

	p->scanned++;
	if (a == PLAN_NOTHING)
		return;
	if (p->dry_run)
		printf("%s: %s\n", WORDS[a], rows_text(r, i, "id"));
	else if (carry_out_action(p, a, r, i, &e) < 0)
		pass_failed(p, "reconcile", &e);
}

/* False when the statement failed or the time was over before the end. */
static bool
compare_sandboxes(struct pass *p, const json_t *seen)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = json_text(seen);
	struct err e = { 0 };
	size_t i;

	if (STORE_RUN(p->ctl->store, STMT_SANDBOX_DIFFERENCES, &r, &e,
		p->ctl->conf->host_name, control_boot_id(p->ctl), text) < 0) {
		pass_failed(p, "reconcile", &e);
		return false;
	}
	p->scanned += (int64_t)json_array_size(seen);
	for (i = 0; i < rows_count(r) && pass_has_time(p); i++)
		settle_sandbox(p, r, i);
	return i == rows_count(r);
}

static void
reconcile_all(struct pass *p, const char *since)
{
	static void (*const LEFTOVERS[])(struct pass *,
	    const char *) = { leftovers_storage, leftovers_sockets,
		snapshots_leftovers };
	auto_json json_t *seen = NULL;
	struct err e = { 0 };

	/* list before rows: a row can then only be newer than the list */
	if (inventory_sandboxes(p->ctl, &seen, &e) < 0) {
		pass_failed(p, "reconcile", &e);
	} else {
		if (compare_sandboxes(p, seen))
			sighting_end_others(p, SIGHTING_SANDBOX, since);
		leftovers_cells(p, seen, since);
		members_settle(p, seen, since);
	}
	for (size_t i = 0; i < ARRAY_LEN(LEFTOVERS) && pass_has_time(p); i++)
		LEFTOVERS[i](p, since);
}

void
reconcile(struct pass *p)
{
	const char *host = p->ctl->conf->host_name;
	auto_rows struct rows *lock = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_PASS_LOCK, &lock, &e, host) < 0) {
		pass_failed(p, "reconcile", &e);
		return;
	}
	if (!rows_bool(lock, 0, "locked"))
		return; /* another reaper reconciles this host */
	reconcile_all(p, rows_text(lock, 0, "at"));
	if (STORE_RUN(p->ctl->store, STMT_PASS_UNLOCK, NULL, &e, host) < 0)
		pass_failed(p, "reconcile", &e);
}
