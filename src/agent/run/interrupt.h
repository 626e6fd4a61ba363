/*
 * interrupt.h: ends the commands that run, and nothing else.
 *
 * Every command is a job, from its call on.  An interruption wakes the thread
 * that runs the command.  That thread ends the command's processes (ending.h)
 * and keeps or replaces its shell (shell/run.c).  Background processes of
 * earlier commands are not touched.
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
	INTERRUPT_EXIT_CODE = 130, /* as of a shell after SIGINT */
	INTERRUPT_ID_MAX = 65      /* with the NUL */
};

enum interrupt_why {
	INTERRUPT_NOT,
	INTERRUPT_ASKED,     /* by a client, or its own client disconnected */
	INTERRUPT_DESTROYED, /* the command's shell or context was deleted */
};

/* The names of a command, for interruptions and the list; all borrowed. */
struct interrupt_name {
	const char *id;      /* unique among running commands; "": none */
	const char *shell;   /* the shell or code context that it belongs to */
	const char *route;   /* "execute/stream"; NULL: not in the list */
	const char *command; /* the command's text; NULL: not shown */
	int client;          /* descriptor whose hangup interrupts; 0: none */
};

/*
 * One command, from its call to its end.  The caller owns the struct, and keeps
 * it until interrupt_end().
 */
struct interrupt_job {
	struct interrupt_name name;
	pid_t root; /* the command's process; 0: none at present */
	bool over;  /* root has ended, or was killed with its tree */
	int wake;   /* readable when the command was interrupted */
	int64_t asked_ms;
	int64_t limit_ms; /* of clock_ms(), when to end it; 0: no limit */
	char asked_at[CLOCK_ISO_MAX];
	enum interrupt_why told;
	struct interrupt_job *next;
};

/* Adds the job.  ERR_CONFLICT "execution_already_exists": the id is in use. */
int interrupt_enter(struct interrupt_job *j, const struct interrupt_name *n,
    struct err *e) MUST_CHECK;
/* Whether the job was interrupted; also checks whether its client is gone. */
enum interrupt_why interrupt_told(struct interrupt_job *j);
/* Sets the job's process.  Set 0 before you wait for that process. */
void interrupt_root(struct interrupt_job *j, pid_t root);
/*
 * Sets the time limit, of clock_ms().  The job's thread ends the command at
 * that time.  If the thread is blocked by a client that does not read, the loop
 * kills the command's process a little later.
 */
void interrupt_limit(struct interrupt_job *j, int64_t limit_ms);
void interrupt_end(struct interrupt_job *j);

/*
 * Sets a callback that is called, with no lock held, after jobs were
 * interrupted.  The callback wakes the threads that wait for their turn in a
 * shell or context, so that they check interrupt_told().
 */
void interrupt_on_tell(void (*wake)(void));

/* Selects commands. */
struct interrupt_meant {
	const char *shell; /* those of this shell or context; NULL: any */
	const char *id;    /* the command with this id; NULL: any */
	int64_t older_ms;  /* those whose call is at least so old */
};

/*
 * Interrupts the selected commands, also those that wait for their shell, and
 * waits for their end.  *count: how many there were.  "still_running" when a
 * command does not end.
 */
int interrupt_these(const struct interrupt_meant *m, size_t *count,
    struct err *e) MUST_CHECK;

/* The same for all commands of a shell or context that is being deleted. */
void interrupt_shell(const char *shell);

/* [{id, route, sessionId, command, startedAt}] of jobs with a route. */
json_t *interrupt_list(void);

#endif
