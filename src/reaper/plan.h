/*
 * plan.h: makes the decisions of a pass.
 *
 * Pure: facts in, one decision out, tested without a process.
 */
#ifndef SANDLEASE_REAPER_PLAN_H
#define SANDLEASE_REAPER_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* The presence of a sandbox, as its host sees it. */
enum plan_seen { PLAN_RUNNING, PLAN_STOPPED, PLAN_ABSENT, PLAN_UNKNOWN };

/* A sandbox as its row has it; known = false when there is no row. */
struct plan_row {
	bool known;
	bool wanted;           /* state creating or running */
	bool ended;            /* state absent: no files are expected */
	bool used;             /* a session that is not deleted refers to it */
	bool other_host;       /* the row belongs to another host */
	bool other_boot;       /* started before the last reboot */
	bool same_incarnation; /* as the one that was seen */
	bool deadline_passed;  /* no start can be under way any more */
};

enum plan_action {
	PLAN_NOTHING,
	PLAN_MARK_STOPPED,  /* the row says running, nothing runs */
	PLAN_STOP_OLD,      /* the row does not want what runs */
	PLAN_SIGHT_UNKNOWN, /* no row knows it: two sightings, then destroy */
	PLAN__MAX
};

/* Decides about one sandbox on this host. */
enum plan_action plan_sandbox(const struct plan_row *row, enum plan_seen seen);

/* Why a wrapper is asked what it is doing. */
enum plan_due {
	PLAN_DUE_START, /* past its startup deadline */
	PLAN_DUE_IDLE,  /* past its idle date */
	PLAN_DUE_ASK    /* may be stuck */
};

/* The wrapper's answer, and the values that its row has. */
struct plan_work {
	bool silent;   /* the wrapper exists and does not answer */
	bool starting; /* initializing: no call was let in yet */
	bool busy;
	int64_t served;     /* calls it took since it was launched */
	int64_t quiet_ms;   /* since the last byte */
	int64_t limit_ms;   /* until its work ends by itself; 0: no limit */
	int64_t cpu_ms;     /* now; -1: not told */
	int64_t old_cpu_ms; /* at its last change; -1: never */
	int64_t cpu_age_ms; /* since then */
};

enum plan_verdict {
	PLAN_LEAVE,     /* not known: the next pass asks again */
	PLAN_KEEP,      /* nothing to do now */
	PLAN_WARM,      /* busy: counts as activity */
	PLAN_REPAIR,    /* work was accepted, and the row does not know */
	PLAN_FAIL,      /* its start has failed */
	PLAN_SLEEP,     /* idle */
	PLAN_STUCK,     /* busy, and nothing moves */
	PLAN_UNHEALTHY, /* does not answer, again and again */
	PLAN_SETTLED,   /* done already */
	PLAN_VERDICT__MAX
};

/*
 * Decides about one wrapper.  *ask_ms: when to ask again whether it is stuck.
 * *moved: its CPU time differs from that in the row.
 */
enum plan_verdict plan_work(enum plan_due due, const struct plan_work *w,
    int64_t stuck_ms, int64_t *ask_ms, bool *moved);

/*
 * How long retries of stops may still take: `percent` of the pass, less
 * spent_ms, and never more than is left of it.
 */
int64_t plan_retry_ms(int64_t pass_ms, int64_t percent, int64_t spent_ms,
    int64_t left_ms);

/*
 * How long a part of weight `weight` may take.  It shares `left_ms` with the
 * parts after it; `weights` is the sum of theirs and its own.  A part that uses
 * up its share leaves the others theirs, and they share what it does not use.
 */
int64_t plan_share_ms(int64_t left_ms, int64_t weight, int64_t weights);

/* A member of the warm pool. */
struct plan_member {
	bool ready, retiring; /* neither: it is being started */
	bool fits;            /* a create could claim it */
	bool overdue;         /* its start or its end has no time left */
	bool gone;            /* its sandbox does not run any more */
};

/* `room`: its class may have another one.  One that is ended has its time. */
bool plan_member_stays(const struct plan_member *m, bool room);

#endif
