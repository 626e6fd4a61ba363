/* pass.c: one pass over everything that is due. */
#include "reaper/pass.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "reaper/ask.h"
#include "reaper/clear.h"
#include "reaper/reconcile.h"
#include "reaper/snapshots.h"
#include "reaper/stops.h"
#include "reaper/upkeep.h"
#include "reaper/wishes.h"

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

struct pass_number
pass_number(int64_t n)
{
	struct pass_number out;

	snprintf(out.text, sizeof(out.text), "%" PRId64, n);
	return out;
}

json_t *
pass_summary(const struct pass *p)
{
	const struct {
		const char *name;
		int64_t value;
	} FIGURES[] = {
		{ "scanned", p->scanned },
		{ "stopped", p->stopped },
		{ "slept", p->slept },
		{ "deleted", p->deleted },
		{ "failedStarts", p->failed_starts },
		{ "orphans", p->orphans },
		{ "stuck", p->stuck },
		{ "old", p->old },
		{ "sandboxGone", p->gone },
		{ "retired", p->retired },
		{ "leaked", p->leaked },
		{ "removed", p->removed },
		{ "failures", p->errors },
	};
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_LEN(FIGURES); i++)
		json_object_set_new(o, FIGURES[i].name,
		    json_integer(FIGURES[i].value));
	return o;
}

/*
 * The order of work: what ran out of time, then the obligations to stop, then
 * the stops, what they leave behind, and last rows against reality.
 */
/* clang-format off */
static const struct {
	const char *name;
	void (*run)(struct pass *p);
} PARTS[] = {
	{ "stop_watchdogs", stops_expire_watchdogs },
	{ "late_starts",    ask_late_starts },
	{ "setups",         upkeep_setups },
	{ "interrupts",     upkeep_interrupts },
	{ "suspends",       upkeep_suspends },
	{ "orphans",        wish_orphans },
	{ "expired",        wish_expired },
	{ "retention",      wish_retention },
	{ "run_time",       wish_run_time },
	{ "old",            wish_old },
	{ "lost_leases",    wish_lost_leases },
	{ "stuck",          ask_stuck },
	{ "idle",           ask_idle },
	{ "stops",          stops_run },
	{ "deletions",      clear_deletions },
	{ "sleepers",       clear_sleepers },
	{ "expired_ports",  clear_ports },
	{ "failed_files",   clear_failed_files },
	{ "snapshots",      snapshots_clear },
	{ "idle_sandboxes", clear_idle_sandboxes },
	{ "destroys",       clear_destroys },
	{ "disk",           upkeep_disk },
	{ "reconcile",      reconcile },
	{ "forgotten",      clear_forgotten },
	{ "trash",          clear_trash },
};
/* clang-format on */

void
pass_run(struct pass *p)
{
	for (size_t i = 0; i < ARRAY_LEN(PARTS) && pass_has_time(p); i++) {
		int64_t began = clock_ms();

		PARTS[i].run(p);
		log_line(LOG_DEBUG, "part", "%s took %lld ms", PARTS[i].name,
		    (long long)(clock_ms() - began));
	}
}
