/*
 * exec.h: running a command for a caller.
 *
 * In a named shell, beside one (a shell of its own that has taken over the
 * named one's state: streams, processes), or sessionless.  Output goes
 * to the caller's callback as it comes.  A deadline kills the command with
 * everything it has started.
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
	bool input;         /* exec_prepare: descriptor 3 is what it reads */
	pump_output_fn *output;
	pump_quiet_fn *quiet;
	const int *quiet_ms; /* as in struct pump */
	/* called once with the pid when it has started; may be NULL */
	void (*started)(void *ctx, pid_t pid);
	void *ctx;
	bool is_work; /* keeps the session awake while it runs */
	/* by which callers can name it; NULL: it is nobody's but ours */
	const struct execution *execution;
};

/* In the named shell; state it changes stays. */
int exec_in_shell(const struct exec *x, struct shell_outcome *out,
    struct err *e) MUST_CHECK;

/* In a process of its own, like the named shell or sessionless. */
int exec_beside(const struct exec *x, struct shell_outcome *out, struct err *e)
    MUST_CHECK;

/*
 * What such a process is to be, for those who start it themselves: its script
 * and where it begins.  Waits for the named shell, as shell_hold() does.
 */
int exec_prepare(const struct exec *x, struct interrupt_job *job,
    int64_t deadline_ms, struct buf *script, char cwd[SHELL_PATH_MAX],
    struct err *e) MUST_CHECK;

#endif
