/*
 * interrupt.h: stopping the commands that run, and nothing else.
 *
 * Every command is a job from the call on.  An interruption sends SIGTERM to
 * what each has started, SIGKILL to what is left after a while, and then wakes
 * the thread that runs it.  What earlier commands left in the background is
 * not touched.  A shell is asked for its state first (a trap of SIGUSR2, which
 * also keeps it from going on with the next command of a list), so that the
 * one that takes its place can have it.
 */
#ifndef SANDLEASE_AGENT_INTERRUPT_H
#define SANDLEASE_AGENT_INTERRUPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/proctree.h"
#include "agent/spawn.h"
#include "common/err.h"
#include "common/str.h"

enum { INTERRUPT_EXIT_CODE = 130 }; /* as a shell says of SIGINT */

/*
 * One command, from the call that asks for it to its end; the caller's, who
 * keeps it until interrupt_end().
 */
struct interrupt_job {
	pid_t root; /* 0: it waits for its shell */
	bool shell; /* root is a persistent shell: it and its jobs stay */
	int wake;   /* readable when the command is to be given up */
	int64_t asked_ms;
	struct proc_moment since; /* what is older is not ours */
	bool told;                /* an interruption has come */
	bool alone; /* ... when root had no children: it is meant */
	struct interrupt_job *next;
};

void interrupt_enter(struct interrupt_job *j);
/* It is about to run.  False when it has been interrupted: it must not. */
bool interrupt_begin(struct interrupt_job *j, pid_t root, bool shell);
/* It no longer runs.  True when it has been interrupted. */
bool interrupt_over(struct interrupt_job *j);
void interrupt_end(struct interrupt_job *j);

/*
 * Interrupts every command that was asked for at least older_ms ago, also
 * those that wait for their shell.  *count says how many there were; one that
 * does not end is "still_running".
 */
int interrupt_all(int64_t older_ms, size_t *count, struct err *e) MUST_CHECK;

/* Where shells leave their state.  Once, before the first. */
void interrupt_open(const char *instance);
/* What a shell must be told when it starts. */
void interrupt_trap(struct buf *to);
/* The state an interrupted shell left; false when it left none in time. */
bool interrupt_state(const struct child *shell, struct buf *out);

#endif
