/*
 * execution_control.h: has executions run in sessions, and takes their results.
 *
 * A row says which attempt of an execution which generation of its session has.
 * The wrapper runs and keeps the result; it tells nobody.  So each process that
 * wants to know, or cleans up, asks it (execution_pull()).
 */
#ifndef SANDLEASE_CONTROL_EXECUTION_CONTROL_H
#define SANDLEASE_CONTROL_EXECUTION_CONTROL_H

#include "control/session_control.h"
#include "domain/attempt.h"
#include "provider/provider.h"

enum {
	EXECUTION_QUEUE_MAX = 200, /* of a session */
	EXECUTION_ORG_MAX = 1000,
	EXECUTION_COMMAND_SHOWN = 1024
};

/* Options of an execution; strings are "" and pointers NULL when absent. */
struct execution_options {
	const char *session; /* not for execution_start() */
	const char *agent_type;
	const char *task_id;
	const char *hash;    /* of the request, for task_id */
	const char *command; /* for people */
	json_t *work;        /* as the agent takes it; borrowed */
	const json_t *limits;
	const char *cleanup; /* only for execution_start() */
	int64_t max_retries; /* -1: as many as usual */
	bool unattended;     /* only recorded: api/serve/starts.c gives it */
};

/* Sets ERR_NOT_FOUND "execution_not_found".  Always -1. */
int execution_not_found(struct err *e);

/* The beginning of a command, for people; the caller owns it. */
json_t *execution_shown_command(const char *command);

/* An attempt whose end is recorded, and which its session still has. */
struct execution_rest {
	bool over; /* has ended; the others are set only then */
	char attempt[RUN_ID_MAX];
	struct session_row session;
};

/*
 * Has the wrapper forget the attempt, and removes its groups; best effort: both
 * end with the session.  A client need not wait for it.
 */
void execution_tidy(struct control *ctl, const struct execution_rest *rest);

struct execution_made {
	bool is_new;  /* false: the task id had one already */
	bool waiting; /* its session must be started: execution_deliver() */
	struct execution_rest rest;
};

/*
 * Records an execution and gives it to its session, if that is ready; `id`
 * becomes its id.  If only the second fails, the state of the execution tells.
 * wait_until_ms: 0 if the client does not wait for its end.
 */
int execution_create(struct control *ctl, const struct principal *who,
    const struct execution_options *o, int64_t wait_until_ms, char id[ID_MAX],
    struct execution_made *made, struct err *e) MUST_CHECK;

/* An execution that was recorded with its session. */
struct execution_started {
	char id[ID_MAX];
	char session[ID_MAX];
	bool made; /* false: the task id had one already */
	struct execution_rest rest;
	bool network_changed;
	bool alone;        /* as in launch_act() */
	struct rows *plan; /* of the session's start; owned */
};

#define auto_execution_started __attribute__((cleanup(execution_started_free)))
void execution_started_free(struct execution_started *s);

/*
 * Records an execution together with its session, which is made as `w` says, or
 * found by its correlation keys.
 */
int execution_start(struct control *ctl, const struct principal *who,
    const struct execution_options *o, const struct session_options *w,
    struct execution_started *out, struct err *e) MUST_CHECK;

/*
 * Starts the session, for which there is time until start_until_ms, and gives it
 * the execution.  A failure is told by the state of the execution; a start that
 * takes longer goes on without this process.  wait_until_ms as above.
 */
void execution_start_act(struct control *ctl, struct execution_started *s,
    int64_t start_until_ms, int64_t wait_until_ms);

/*
 * The same for a process that must not start sessions: only a network that was
 * changed is followed at once.
 */
void execution_start_leave(struct control *ctl, struct execution_started *s);

/*
 * Gives what waits in a session to its wrapper, in the order in which it was
 * made.  The session is started if it has no wrapper, for which there is time
 * until deadline_ms.  If that fails and the client cannot help it, each has had
 * an attempt.
 */
int execution_deliver(struct control *ctl, const char *session,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * Gives an execution to the wrapper of its session, which is ready, and asks how
 * far it is.
 */
int execution_give_and_ask(struct control *ctl, const struct session_row *s,
    const char *id, int64_t wait_until_ms, struct execution_rest *rest,
    struct err *e) MUST_CHECK;

/*
 * Finds out how far an execution is, and records it.  Waits for its end until
 * wait_until_ms of clock_ms().  What is due is done on the way: an attempt that
 * was lost is followed by another.  With 0 it is execution_look().
 */
int execution_pull(struct control *ctl, const char *id, int64_t wait_until_ms,
    struct err *e) MUST_CHECK;

/*
 * The same, and reads output after `offset`, or waits for some.  out->known is
 * false if there is no wrapper that has the attempt.
 */
int execution_read(struct control *ctl, const char *id, int64_t offset,
    int64_t wait_until_ms, struct agent_attempt *out, struct err *e) MUST_CHECK;

/*
 * The same for a process that must not start sessions, such as the reaper: only
 * asks a wrapper that there is, and records what it says, or that it is lost.
 */
int execution_look(struct control *ctl, const char *id, struct err *e)
    MUST_CHECK;

/*
 * Ends an execution that is past its time limit, and whose wrapper does not
 * answer: with the session's processes, whose files stay.
 */
int execution_end_overdue(struct control *ctl, const char *id, struct err *e)
    MUST_CHECK;

/* Has it end, and waits for that a moment. */
int execution_cancel(struct control *ctl, const char *id, struct err *e)
    MUST_CHECK;

/*
 * Ends what runs in a session that is about to be deleted or to sleep, and takes
 * the results; best effort.  `why` is for people.
 */
void execution_settle(struct control *ctl, const char *session,
    const char *why);

#endif
