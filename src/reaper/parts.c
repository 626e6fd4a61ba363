/* parts.c: runs the parts of a pass in their order and divides its time. */
#include "reaper/parts.h"

#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "reaper/ask.h"
#include "reaper/clear.h"
#include "reaper/executions.h"
#include "reaper/plan.h"
#include "reaper/ports.h"
#include "reaper/reconcile.h"
#include "reaper/samples.h"
#include "reaper/sighting.h"
#include "reaper/snapshots.h"
#include "reaper/stop_requests.h"
#include "reaper/stops.h"
#include "reaper/triggers.h"
#include "reaper/upkeep.h"
#include "reaper/webhooks.h"

/*
 * The order of work: attempts that ran out of time, then the obligations to
 * stop, then the stops, their leftovers, rows against reality, and last the
 * part that waits for tenants' servers.
 * Weights are shares of a pass: more for parts that wait for sandboxes.  A part
 * whose share was not enough runs again when all have had theirs.  So does a
 * part that works on its results (`after`).
 */
struct part {
	const char *name;
	void (*run)(struct pass *p);
	int weight;
	const char *after; /* runs again if one of these parts does */
};

/* Parts that ask for stops, with a space around each. */
static const char REQUESTS[] =
    " late_starts orphans expired retention run_time old lost_leases stuck idle ";

/* clang-format off */
static const struct part PARTS[] = {
	{ "stop_watchdogs", stops_expire_watchdogs, 1 },
	{ "late_starts",    ask_late_starts,        2 },
	{ "interrupts",     upkeep_interrupts,      2 },
	{ "suspends",       upkeep_suspends,        2 },
	{ "orphans",        request_stop_orphans,           1 },
	{ "expired",        request_stop_expired,           1 },
	{ "retention",      request_stop_retention,         1 },
	{ "run_time",       request_stop_run_time,          1 },
	{ "old",            request_stop_old,               1 },
	{ "lost_leases",    request_stop_lost_leases,       1 },
	{ "triggers",       triggers_fire,          2 },
	{ "executions",     executions_look,        2 },
	{ "stuck",          ask_stuck,              2 },
	{ "idle",           ask_idle,               4 },
	{ "stops",          stops_run,              8, REQUESTS },
	{ "deletions",      clear_deletions,        4, "stops" },
	{ "sleepers",       clear_sleepers,         1, "stops" },
	{ "ports",          ports_settle,           2 },
	{ "revocations",    ports_bounce,           2 },
	{ "failed_files",   clear_failed_files,     2 },
	{ "snapshots",      snapshots_clear,        2 },
	{ "idle_sandboxes", clear_idle_sandboxes,   4, "deletions" },
	{ "destroys",       clear_destroys,         4, "idle_sandboxes" },
	{ "disk",           upkeep_disk,            2 },
	{ "samples",        samples_take,           2 },
	{ "reconcile",      reconcile,              4 },
	{ "forgotten",      clear_forgotten,        2 },
	{ "artifacts",      executions_artifacts,   1 },
	{ "trash",          clear_trash,            4, "deletions" },
	{ "webhooks",       webhooks_send,          4 },
};
/* clang-format on */

enum { COUNT = ARRAY_LEN(PARTS) };

/* The parts that are still to be run, in their order. */
struct turn {
	const struct part *part[COUNT];
	size_t count;
};

static int64_t
weight_from(const struct turn *t, size_t from)
{
	int64_t sum = 0;

	for (size_t i = from; i < t->count; i++)
		sum += t->part[i]->weight;
	return sum;
}

static void
order_parts(const struct pass *p, struct turn *t)
{
	size_t first = 0;

	for (size_t i = 0; i < COUNT; i++)
		if (str_equal(PARTS[i].name, p->begin))
			first = i;
	for (t->count = 0; t->count < COUNT; t->count++)
		t->part[t->count] = &PARTS[(first + t->count) % COUNT];
}

/* Runs one part.  True when its share of the time was not enough. */
static bool
run_part(struct pass *p, const struct part *part, int64_t share_ms)
{
	int64_t began = clock_ms();

	p->deadline_ms = began + share_ms;
	part->run(p);
	log_line(LOG_DEBUG, "part", "%s took %lld of %lld ms", part->name,
	    (long long)(clock_ms() - began), (long long)share_ms);
	return !pass_has_time(p);
}

/* Whether the turn has one of the parts, whose names are divided by spaces. */
static bool
has_part(const struct turn *t, const char *names)
{
	for (size_t i = 0; names != NULL && i < t->count; i++) {
		auto_free char *word = xasprintf(" %s ", t->part[i]->name);

		if (str_equal(names, t->part[i]->name) ||
		    strstr(names, word) != NULL)
			return true;
	}
	return false;
}

/*
 * Runs each part once; `again` gets those that are to run again.  Returns how
 * many were run before the time was over.
 */
static size_t
run_turn(struct pass *p, const struct turn *t, struct turn *again)
{
	size_t i = 0;

	again->count = 0;
	for (; i < t->count && clock_left_ms(p->end_ms) > 0; i++)
		if (run_part(p, t->part[i],
			plan_share_ms(clock_left_ms(p->end_ms),
			    t->part[i]->weight, weight_from(t, i))) ||
		    has_part(again, t->part[i]->after))
			again->part[again->count++] = t->part[i];
	return i;
}

/*
 * Reads which part the last pass of this host did not come to.  Without that,
 * the pass begins with the first part.
 */
static void
read_last_pass(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_REAPER_RUN_LAST, &r, &e,
		p->ctl->conf->host_name) < 0) {
		pass_failed(p, "begin", &e);
		return;
	}
	str_copy(p->begin, sizeof(p->begin), rows_text(r, 0, "next"));
	str_copy(p->since, sizeof(p->since), rows_text(r, 0, "at"));
}

void
parts_run(struct pass *p)
{
	auto_json json_t *silences = json_object(), *skip = json_array();
	auto_json json_t *left = json_array();
	struct turn now, again;
	size_t done;

	p->silences = silences;
	p->skip = skip;
	p->left = left;
	read_last_pass(p);
	order_parts(p, &now);
	done = run_turn(p, &now, &again);
	if (done < now.count)
		str_copy(p->next, sizeof(p->next), now.part[done]->name);
	while (again.count > 0 && clock_left_ms(p->end_ms) > 0) {
		now = again;
		run_turn(p, &now, &again);
	}
	/* a wrapper not noted again in this pass has answered, or is gone */
	if (p->next[0] == '\0' && again.count == 0 && p->since[0] != '\0')
		sighting_end_others(p, SIGHTING_SILENT, p->since);
	p->silences = p->skip = p->left = NULL;
}
