/*
 * shell.h: the persistent shells of a session.
 *
 * Each name (`default` when a caller gives none) is one `bash --norc` that
 * is started when it is created or first used and keeps directory, variables,
 * functions and aliases between commands.  One command at a time in each;
 * different shells run side by side.  A shell that has died is told once, with
 * ERR_GONE, and the next call gets a fresh one.
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

/* Once, before the first shell: a word for the names of its fifos. */
void shell_open(const char *instance);

/* A directory below /tmp that only we use; "" before shell_open(). */
const char *shell_fifos(void);

/* ---- by name */

/* How a shell begins, and begins again after its death. */
struct shell_options {
	const json_t *env;  /* checked; NULL: none */
	const char *cwd;    /* "": /workspace; $HOME if it cannot be entered */
	int64_t timeout_ms; /* of its commands that give none; 0: none */
};

/* Makes and starts it; ERR_CONFLICT "session_already_exists". */
int shell_create(const char *name, const struct shell_options *o, struct err *e)
    MUST_CHECK;

/* The names of those there are. */
json_t *shell_list(void);

/*
 * Ends it with everything that was started in it.  Calls that are in it, or
 * beside it, or wait for it, get ERR_GONE "session_destroyed".  A name that
 * nobody has is "internal_error": the contract wants it so.
 */
int shell_delete(const char *name, struct err *e) MUST_CHECK;

/* What else is to end with a shell: called with the name of each deleted. */
void shell_on_delete(size_t (*also)(const char *name));

/* How long a command in it may take that does not say: 0 for ever. */
int64_t shell_timeout_ms(const char *name);

/* Where the shell is; /workspace when there is none. */
void shell_cwd(const char *name, char out[SHELL_PATH_MAX]);

/*
 * Appends what it exports, as a script; of one that is in a command, as the
 * last one left it.  Nothing of a name that nobody has.
 */
void shell_exports(const char *name, struct buf *out);

/* The error of a call whose shell was deleted under it.  -1. */
int shell_destroyed(const char *name, struct err *e);

/* ---- held */

/*
 * The shell of that name, made if need be, held until shell_release(); waits
 * its turn until `deadline_ms` of clock_ms() (0: for ever), or until `job` (may
 * be NULL) is interrupted; then ERR_BUSY "busy".
 */
int shell_hold(const char *name, struct interrupt_job *job, int64_t deadline_ms,
    struct shell **out, struct err *e) MUST_CHECK;
void shell_release(struct shell *s);

struct shell_command {
	const char *command;
	const json_t *env;         /* of this call; NULL: none */
	const char *cwd;           /* of this call; "": the shell's */
	struct interrupt_job *job; /* NULL: it is not to be interrupted */
	int64_t deadline_ms;
};

/* How a command ended. */
struct shell_outcome {
	bool timed_out;   /* it was killed */
	bool interrupted; /* it was killed, or never ran */
	bool destroyed;   /* it was killed with its shell */
	bool replaced;    /* the shell did not yield: there is a new one */
	bool restored;    /* ... with directory and exported variables */
	bool began;       /* it may have done something */
	int exit_code;
};

/*
 * Runs a command in a held shell; `p` has the output callbacks.  ERR_GONE
 * "session_terminated" when the shell ends with it, with its exitCode.
 */
int shell_run(struct shell *s, const struct shell_command *c, struct pump *p,
    struct shell_outcome *out, struct err *e) MUST_CHECK;

/*
 * What a shell of its own must be told to be like this one: "" for one that
 * has not been used.
 */
int shell_state(struct shell *s, struct buf *out, struct err *e) MUST_CHECK;

#endif
