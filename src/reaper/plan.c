/* plan.c: makes the decisions of a pass. */
#include "reaper/plan.h"

enum plan_action
plan_sandbox(const struct plan_row *row, enum plan_seen seen)
{
	if (seen == PLAN_UNKNOWN || row->other_host)
		return PLAN_NOTHING; /* not known, or not ours: touch nothing */
	if (!row->known || (row->ended && !row->used))
		return seen == PLAN_ABSENT ? PLAN_NOTHING : PLAN_SIGHT_UNKNOWN;
	if (seen == PLAN_RUNNING)
		return row->wanted && row->same_incarnation ? PLAN_NOTHING
							    : PLAN_STOP_OLD;
	/* nothing runs: a start may be under way until its deadline */
	if (row->wanted && (row->deadline_passed || row->other_boot))
		return PLAN_MARK_STOPPED;
	return PLAN_NOTHING;
}

/* How long nothing has moved, neither bytes nor CPU time. */
static int64_t
still_ms(const struct plan_work *w, bool moved)
{
	int64_t still = moved || w->cpu_ms < 0 ? 0 : w->cpu_age_ms;

	return w->quiet_ms < still ? w->quiet_ms : still;
}

enum plan_verdict
plan_work(enum plan_due due, const struct plan_work *w, int64_t stuck_ms,
    int64_t *ask_ms, bool *moved)
{
	*moved = w->busy && w->cpu_ms >= 0 && w->cpu_ms != w->old_cpu_ms;
	*ask_ms = stuck_ms;
	if (w->silent && !(due == PLAN_DUE_START && w->starting))
		return PLAN_LEAVE;
	if (w->busy) {
		int64_t still = still_ms(w, *moved);

		if (still >= stuck_ms && w->limit_ms == 0)
			return PLAN_STUCK;
		if (still < stuck_ms)
			*ask_ms = stuck_ms - still;
		if (*ask_ms < w->limit_ms)
			*ask_ms = w->limit_ms;
	}
	switch (due) {
	case PLAN_DUE_START:
		return w->busy || (w->served > 0 && !w->starting) ? PLAN_REPAIR
								  : PLAN_FAIL;
	case PLAN_DUE_IDLE:
		return w->busy ? PLAN_WARM : PLAN_SLEEP;
	case PLAN_DUE_ASK:
		break;
	}
	return PLAN_KEEP;
}

int64_t
plan_retry_ms(int64_t pass_ms, int64_t percent, int64_t spent_ms,
    int64_t left_ms)
{
	int64_t share = pass_ms * percent / 100 - spent_ms;

	if (share < 0)
		return 0;
	return share < left_ms ? share : left_ms;
}

int64_t
plan_share_ms(int64_t left_ms, int64_t weight, int64_t weights)
{
	return left_ms <= 0 ? 0 : left_ms * weight / weights;
}

bool
plan_member_stays(const struct plan_member *m, bool room)
{
	if (m->overdue)
		return false;
	if (m->retiring)
		return true; /* another program is ending it */
	return room && m->fits && !(m->ready && m->gone);
}
