/*
 * plan.h: what to do about a difference between rows and reality.
 *
 * Pure: two facts in, one decision out, tested without a process.
 */
#ifndef SANDLEASE_REAPER_PLAN_H
#define SANDLEASE_REAPER_PLAN_H

#include <stdbool.h>

/* What a host sees of a sandbox. */
enum plan_sight { PLAN_RUNNING, PLAN_STOPPED, PLAN_ABSENT, PLAN_UNKNOWN };

/* A sandbox as its row has it; known = false when there is no row. */
struct plan_row {
	bool known;
	bool wanted;           /* state creating or running */
	bool ended;            /* state absent: no files are expected */
	bool used;             /* a session that is not deleted refers to it */
	bool other_host;       /* the row belongs to another host */
	bool other_boot;       /* started before the last reboot */
	bool same_incarnation; /* as the one that was seen */
	bool deadline_passed;  /* nobody is at it any more */
};

enum plan_action {
	PLAN_NOTHING,
	PLAN_MARK_STOPPED,  /* the row says running, nothing runs */
	PLAN_STOP_OLD,      /* what runs is no longer wanted: garbage */
	PLAN_SIGHT_UNKNOWN, /* no row knows it: two sightings, then destroy */
	PLAN__MAX
};

/* What to do about one sandbox on this host. */
enum plan_action plan_sandbox(const struct plan_row *row, enum plan_sight seen);

#endif
