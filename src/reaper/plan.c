/* plan.c: what to do about a difference between rows and reality. */
#include "reaper/plan.h"

enum plan_action
plan_sandbox(const struct plan_row *row, enum plan_sight seen)
{
	if (seen == PLAN_UNKNOWN || row->other_host)
		return PLAN_NOTHING; /* could not tell: touch nothing */
	if (!row->known || (row->ended && !row->used))
		return seen == PLAN_ABSENT ? PLAN_NOTHING : PLAN_SIGHT_UNKNOWN;
	if (seen == PLAN_RUNNING)
		return row->wanted && row->same_incarnation ? PLAN_NOTHING
							    : PLAN_STOP_OLD;
	/* nothing runs: a start that is under way has its deadline's time */
	if (row->wanted && (row->deadline_passed || row->other_boot))
		return PLAN_MARK_STOPPED;
	return PLAN_NOTHING;
}
