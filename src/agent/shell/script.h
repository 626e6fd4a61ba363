/*
 * script.h: what a persistent shell is told, as text.
 *
 * The shell reads commands from its descriptor 0 and answers on its
 * descriptor 1, one line each:
 *
 *     x N STATUS   command N has ended
 *     e N          what follows, up to `d N`, sets the exported variables
 *     d N          the shell is as it was, ready for the next
 *
 * A signal of ours (script_abort_signal) makes it leave the command that it
 * is in: a trap of that signal breaks out of loops, returns from functions and
 * lets nothing else begin until an `x` is to be told.  What the command has
 * started is for the caller to end.
 *
 * Every command gets descriptors 0, 1 and 2 of its own; bash keeps the
 * shell's in close-on-exec copies, so that what a command starts has only
 * those three.  Pure: no process is touched here.
 */
#ifndef SANDLEASE_AGENT_SHELL_SCRIPT_H
#define SANDLEASE_AGENT_SHELL_SCRIPT_H

#include <stdint.h>

#include "common/json.h"
#include "common/str.h"

/* One command for a living shell. */
struct script_command {
	int64_t seq;
	const char *command;
	const json_t *env;     /* of this call only; NULL: none */
	const char *cwd;       /* of this call only; "": the shell's own */
	const char *back;      /* where the shell was, when cwd is given */
	const char *out, *err; /* paths of the fifos, plain words */
};

/* Exports name with value, or unsets it when value is NULL. */
void script_export(struct buf *to, const char *name, const char *value);

/* What a new shell is told first. */
void script_greet(struct buf *to);

void script_run(struct buf *to, const struct script_command *c);

/*
 * Behind a command that was aborted: once `d N` is told, the abort is over,
 * also if it came when the command had just ended.  back: as above, or "".
 */
void script_sync(struct buf *to, int64_t seq, const char *back);

/* The signal that aborts. */
int script_abort_signal(void);

/*
 * Makes the shell print a line `b TOKEN`, everything that makes it what it is
 * (variables, functions, aliases, options, umask), and a line `TOKEN`.
 */
void script_dump(struct buf *to, const char *token);

/*
 * A shell of its own that takes over `state` (may be ""), then runs command,
 * which reads descriptor 3 if it has `input`, else nothing.
 */
void script_alone(struct buf *to, const char *state, const json_t *env,
    const char *command, bool input);

/* Makes a fresh shell take over `state`, and go to `cwd` if that is not "". */
void script_restore(struct buf *to, const char *state, const char *cwd);

#endif
