/*
 * interrupt.h: stopping the commands that run, and nothing else.
 *
 * Every command is a job from the call on.  An interruption wakes the thread
 * that runs it, which ends what the command has started (ending.h) and keeps
 * or replaces its shell (shell_run.c).  What earlier commands left in the
 * background is not touched.
 */
#ifndef SANDLEASE_AGENT_INTERRUPT_H
#define SANDLEASE_AGENT_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"

enum { INTERRUPT_EXIT_CODE = 130 }; /* as a shell says of SIGINT */

enum interrupt_why {
	INTERRUPT_NOT,
	INTERRUPT_ASKED,     /* somebody wants what runs to stop */
	INTERRUPT_DESTROYED, /* its shell was deleted */
};

/*
 * One command, from the call that asks for it to its end; the caller's, who
 * keeps it until interrupt_end().
 */
struct interrupt_job {
	const char *shell; /* in it or beside it, or a context; borrowed */
	pid_t root;        /* a process of its own; 0: none, or not now */
	int wake;          /* readable when the command is to be given up */
	int64_t asked_ms;
	int64_t limit_ms; /* when its time is over; 0: it has no end */
	enum interrupt_why told;
	struct interrupt_job *next;
};

void interrupt_enter(struct interrupt_job *j, const char *shell);
/* Whether it is to go on. */
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
 * Interrupts every command that was asked for at least older_ms ago, also
 * those that wait for their shell.  *count says how many there were; one that
 * does not end is "still_running".
 */
int interrupt_all(int64_t older_ms, size_t *count, struct err *e) MUST_CHECK;

/* The same for all in, or beside, a shell or a context that is deleted. */
void interrupt_shell(const char *shell);

#endif
