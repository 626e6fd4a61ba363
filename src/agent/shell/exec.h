/*
 * exec.h: runs a command for a caller.
 *
 * The command runs in a named shell; beside one, in a bash of its own with a
 * copy of the named shell's state (streams, processes); or sessionless, in a
 * bash without such a state.  Output goes to the caller's callback as it comes.
 * A deadline kills the command with everything it has started.
 */
#ifndef SANDLEASE_AGENT_SHELL_EXEC_H
#define SANDLEASE_AGENT_SHELL_EXEC_H

#include <stdint.h>

#include "agent/run/execution.h"
#include "agent/run/pump.h"
#include "agent/shell/shell.h"
#include "common/err.h"
#include "common/json.h"

/* The name that stands for no shell at all. */
#define EXEC_SESSIONLESS "__DISABLE_SESSION__"

struct exec {
	const char *command; /* borrowed */
	char shell[SHELL_NAME_MAX];
	const json_t *env; /* borrowed; NULL: none */
	char cwd[SHELL_PATH_MAX];
	int64_t timeout_ms; /* 0: none */
	bool input;         /* for exec_prepare(): stdin is descriptor 3 */
	pump_output_fn *output;
	pump_quiet_fn *quiet;
	const int *quiet_ms; /* as in struct pump */
	/* callback, once, with the pid after the start; may be NULL */
	void (*started)(void *ctx, pid_t pid);
	void *ctx;
	bool is_work; /* keeps the session awake while the command runs */
	/* the id by which callers interrupt it; NULL: a command of ours */
	const struct execution *execution;
};

/* Runs the command in the named shell; its changes of state stay there. */
int exec_in_shell(const struct exec *x, struct shell_outcome *out,
    struct err *e) MUST_CHECK;

/* Runs the command beside the named shell, or sessionless. */
int exec_beside(const struct exec *x, struct shell_outcome *out, struct err *e)
    MUST_CHECK;

/*
 * For callers that start the process themselves: writes the script and the
 * directory that exec_beside() would use.  Waits for the named shell, as
 * shell_hold() does.
 */
int exec_prepare(const struct exec *x, struct interrupt_job *job,
    int64_t deadline_ms, struct buf *script, char cwd[SHELL_PATH_MAX],
    struct err *e) MUST_CHECK;

#endif
