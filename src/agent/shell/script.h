/*
 * script.h: writes the bash scripts that the wrapper sends to a shell.
 *
 * A persistent shell reads scripts from its descriptor 0 and prints answers to
 * its descriptor 1, one line each:
 *
 *     x N STATUS   command N has ended
 *     e N          the lines up to `d N` set the exported variables
 *     d N          directory and state are restored, ready for the next
 *
 * The signal script_abort_signal() makes the shell leave its present command:
 * the shell's trap breaks out of loops, returns from functions and lets no other
 * command begin before the next `x` line.  The caller must kill the processes
 * that the command has started.
 *
 * Every command gets descriptors 0, 1 and 2 of its own.  Bash keeps the shell's
 * descriptors in close-on-exec copies, so the programs that a command starts
 * have only those three.  Pure: this file writes text and touches no process.
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
	const json_t *env;     /* for this command only; NULL: none */
	const char *cwd;       /* for this command only; "": the shell's own */
	const char *back;      /* directory to return to, when cwd is given */
	const char *out, *err; /* paths of the fifos; not quoted */
};

/* Exports name with value, or unsets it when value is NULL. */
void script_export(struct buf *to, const char *name, const char *value);

/* The first script of a new shell: sets the trap for the abort signal. */
void script_greet(struct buf *to);

/* Runs one command, then prints `x`, `e` and `d`. */
void script_run(struct buf *to, const struct script_command *c);

/*
 * Sent after an aborted command.  When the shell prints `d N`, the abort is
 * over, also if the signal came after the command's end.  back: the directory
 * to return to, or "".
 */
void script_sync(struct buf *to, int64_t seq, const char *back);

/* The number of the signal that aborts a command. */
int script_abort_signal(void);

/*
 * Makes the shell print a line `b TOKEN`, its state as a script (variables,
 * functions, aliases, options, umask), and a line `TOKEN`.
 */
void script_dump(struct buf *to, const char *token);

/*
 * The script of a bash for one command: restores `state` (may be ""), then runs
 * the command.  Its stdin is descriptor 3 if `input`, else /dev/null.
 */
void script_alone(struct buf *to, const char *state, const json_t *env,
    const char *command, bool input);

/* Restores `state` in a fresh shell, and changes to `cwd` if it is not "". */
void script_restore(struct buf *to, const char *state, const char *cwd);

#endif
