/*
 * shell.h: runs commands in the persistent shells of a session.
 *
 * A shell has a name (`default` when a caller gives none) and is one
 * `bash --norc`, started when it is created or first used.  It keeps directory,
 * variables, functions and aliases between commands.  Each shell runs one
 * command at a time; different shells run side by side.  The death of a shell
 * is reported once, with ERR_GONE, and the next call gets a fresh one.
 */
#ifndef SANDLEASE_AGENT_SHELL_SHELL_H
#define SANDLEASE_AGENT_SHELL_SHELL_H

#include <stdint.h>

#include "agent/run/interrupt.h"
#include "agent/run/pump.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

enum {
	SHELL_NAME_MAX = 129,
	SHELLS_MAX = 128,
	SHELL_PATH_MAX = 4097,
	SHELL_TIMEOUT_MS_MAX = 24 * 60 * 60 * 1000
};

struct shell; /* held by one thread at a time */

/* Called once, before the first shell.  `instance` is part of fifo names. */
void shell_open(const char *instance);

/* The directory of the fifos, below /tmp; "" before shell_open(). */
const char *shell_fifos(void);

/* ---- by name */

/* How a shell is started, the first time and after its death. */
struct shell_options {
	const json_t *env;  /* checked; NULL: none */
	const char *cwd;    /* "": /workspace; $HOME if it cannot be entered */
	int64_t timeout_ms; /* for commands that give none; 0: none */
};

/* Makes and starts a shell; ERR_CONFLICT "session_already_exists". */
int shell_create(const char *name, const struct shell_options *o, struct err *e)
    MUST_CHECK;

/* The names of all living shells. */
json_t *shell_list(void);

/*
 * Ends the shell and everything that was started in it.  Calls that run in the
 * shell or beside it, or wait for it, get ERR_GONE "session_destroyed".  An
 * unknown name is "internal_error", as the contract demands.
 */
int shell_delete(const char *name, struct err *e) MUST_CHECK;

/* Registers a callback that gets the name of each shell that was deleted. */
void shell_on_delete(size_t (*also)(const char *name));

/* The timeout of the shell's commands that give none; 0: no limit. */
int64_t shell_timeout_ms(const char *name);

/* The shell's current directory; /workspace if there is no such shell. */
void shell_cwd(const char *name, char out[SHELL_PATH_MAX]);

/*
 * Appends the shell's exported variables, as a script.  While the shell runs a
 * command, these are the exports after the command before it.  Appends nothing
 * for an unknown name.
 */
void shell_exports(const char *name, struct buf *out);

/* Sets the error of a call whose shell was deleted meanwhile.  Returns -1. */
int shell_destroyed(const char *name, struct err *e);

/* ---- held */

/*
 * Gets the shell of that name, made if there is none, for this thread alone
 * until shell_release().  Waits for its turn until `deadline_ms` of clock_ms()
 * (0: for ever), or until `job` (may be NULL) is interrupted; then ERR_BUSY
 * "busy".
 */
int shell_hold(const char *name, struct interrupt_job *job, int64_t deadline_ms,
    struct shell **out, struct err *e) MUST_CHECK;
void shell_release(struct shell *s);

struct shell_command {
	const char *command;
	const json_t *env;         /* for this command only; NULL: none */
	const char *cwd;           /* for this command only; "": the shell's */
	struct interrupt_job *job; /* NULL: cannot be interrupted */
	int64_t deadline_ms;
};

/* How a command ended. */
struct shell_outcome {
	bool timed_out;   /* killed at its deadline, or never ran */
	bool interrupted; /* killed, or never ran */
	bool destroyed;   /* killed with its shell */
	bool replaced;    /* the shell hung and was replaced by a new one */
	bool restored;    /* the new one has directory and exports of the old */
	bool began;       /* the command may have had effects */
	int exit_code;
};

/*
 * Runs a command in a held shell; `p` has the output callbacks.  If the command
 * ends the shell: ERR_GONE "session_terminated", with the shell's exitCode.
 */
int shell_run(struct shell *s, const struct shell_command *c, struct pump *p,
    struct shell_outcome *out, struct err *e) MUST_CHECK;

/*
 * Appends a script that gives another bash the variables, functions, aliases
 * and options of this shell.  Appends nothing for a shell that was never used.
 */
int shell_state(struct shell *s, struct buf *out, struct err *e) MUST_CHECK;

#endif
