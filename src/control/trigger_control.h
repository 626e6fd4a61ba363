/*
 * trigger_control.h: makes and changes triggers, and carries out those that are
 * due.
 *
 * A trigger records an execution, with its session, at times of a schedule.  The
 * task id of that execution holds the due time: however many reapers come, and
 * wherever one of them dies, a due time has one execution.
 */
#ifndef SANDLEASE_CONTROL_TRIGGER_CONTROL_H
#define SANDLEASE_CONTROL_TRIGGER_CONTROL_H

#include "control/control.h"

/* Options of a trigger; a change leaves what is "" or NULL as it is. */
struct trigger_options {
	const char *name;
	const char *schedule;
	const json_t *sets; /* of the schedule, by schedule_json() */
	const char *time_zone;
	int enabled; /* -1: not given */
	/*
	 * {agentType, command (for people), work, limits, network, cleanup,
	 * maxRetries, correlationKeys, isolation, class, filesInRoot}
	 */
	const json_t *run;
};

int trigger_create(struct control *ctl, const struct principal *who,
    const struct trigger_options *o, char id[ID_MAX], struct err *e) MUST_CHECK;
/* If it changes `run`, the executions are `who`'s from then on. */
int trigger_change(struct control *ctl, const struct principal *who,
    const char *id, const struct trigger_options *o, struct err *e) MUST_CHECK;

/* Sets ERR_NOT_FOUND "trigger_not_found".  Always -1. */
int trigger_not_found(struct err *e);

/*
 * Records the execution of a trigger that is due at `at`, unless it was changed
 * or fired meanwhile.  Starts nothing.  A refusal is written into the trigger's
 * row and is no error.
 */
int trigger_fire(struct control *ctl, const char *id, const char *at,
    struct err *e) MUST_CHECK;

#endif
