/*
 * interrupt.h: stopping the commands that run, and nothing else.
 *
 * Every command is a job from the call on.  An interruption wakes the thread
 * that runs it, which ends what the command has started (ending.h) and keeps
 * or replaces its shell (shell/run.c).  What earlier commands left in the
 * background is not touched.
 */
#ifndef SANDLEASE_AGENT_RUN_INTERRUPT_H
#define SANDLEASE_AGENT_RUN_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/clock.h"
#include "common/err.h"
#include "common/json.h"

enum {
	INTERRUPT_EXIT_CODE = 130, /* as a shell says of SIGINT */
	INTERRUPT_ID_MAX = 65      /* with the NUL */
};

enum interrupt_why {
	INTERRUPT_NOT,
	INTERRUPT_ASKED,     /* a caller wants it to stop, or its own left */
	INTERRUPT_DESTROYED, /* its shell was deleted */
};

/* How others can name a command, and what is shown of it; all borrowed. */
struct interrupt_name {
	const char *id;      /* unique while it runs; "": it has none */
	const char *shell;   /* in it or beside it, or a context */
	const char *route;   /* "execute/stream"; NULL: it is not listed */
	const char *command; /* its text; NULL: not shown */
	int client;          /* it is interrupted when this hangs up; 0: not */
};

/*
 * One command, from the call that asks for it to its end; the caller's, who
 * keeps it until interrupt_end().
 */
struct interrupt_job {
	struct interrupt_name name;
	pid_t root; /* a process of its own; 0: none, or not now */
	bool over;  /* that process has ended, or was killed with its tree */
	int wake;   /* readable when the command is to be given up */
	int64_t asked_ms;
	int64_t limit_ms; /* when its time is over; 0: it has no end */
	char asked_at[CLOCK_ISO_MAX];
	enum interrupt_why told;
	struct interrupt_job *next;
};

/* ERR_CONFLICT "execution_already_exists" if its id is in use. */
int interrupt_enter(struct interrupt_job *j, const struct interrupt_name *n,
    struct err *e) MUST_CHECK;
/* Whether it is to go on; looks for its client, too. */
enum interrupt_why interrupt_told(struct interrupt_job *j);
/* Its process, which nobody waits for until this is 0 again. */
void interrupt_root(struct interrupt_job *j, pid_t root);
/*
 * Its thread ends it at that time of clock_ms(), unless it is held up by a
 * client that does not read: then its process is killed a little later.
 */
void interrupt_limit(struct interrupt_job *j, int64_t limit_ms);
void interrupt_end(struct interrupt_job *j);

/*
 * Called, without a lock, after jobs were told to end: it wakes the threads
 * that wait for a turn, so that they look at interrupt_told().
 */
void interrupt_on_tell(void (*wake)(void));

/* Which commands are meant. */
struct interrupt_meant {
	const char *shell; /* in or beside this one; NULL: any */
	const char *id;    /* this one; NULL: any */
	int64_t older_ms;  /* asked for at least so long ago */
};

/*
 * Interrupts them, also those that wait for their shell.  *count says how many
 * there were; one that does not end is "still_running".
 */
int interrupt_these(const struct interrupt_meant *m, size_t *count,
    struct err *e) MUST_CHECK;

/* The same for all in, or beside, a shell or a context that is deleted. */
void interrupt_shell(const char *shell);

/* [{id, route, sessionId, command, startedAt}] of those that have an id. */
json_t *interrupt_list(void);

#endif
