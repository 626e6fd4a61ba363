/*
 * shell.h: the persistent shells of a session.
 *
 * Each name (`default` when a caller gives none) is one `bash --norc` that
 * is started when it is first used and keeps directory, variables, functions
 * and aliases between commands.  One command at a time in each; different
 * shells run side by side.  A shell that has died is told once, with
 * ERR_GONE, and the next call gets a fresh one.
 */
#ifndef SANDLEASE_AGENT_SHELL_H
#define SANDLEASE_AGENT_SHELL_H

#include <stdint.h>

#include "agent/interrupt.h"
#include "agent/pump.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

enum { SHELL_NAME_MAX = 129, SHELLS_MAX = 128, SHELL_PATH_MAX = 4097 };

struct shell; /* held by one thread at a time */

/* Once, before the first shell: a word for the names of its fifos. */
void shell_open(const char *instance);

/*
 * The shell of that name, held until shell_release(); waits its turn until
 * `deadline_ms` of clock_ms() (0: for ever), then ERR_BUSY "busy".
 */
int shell_hold(const char *name, int64_t deadline_ms, struct shell **out,
    struct err *e) MUST_CHECK;
void shell_release(struct shell *s);

struct shell_command {
	const char *command;
	const json_t *env;         /* of this call; NULL: none */
	const char *cwd;           /* of this call; "": the shell's */
	struct interrupt_job *job; /* NULL: it is not to be interrupted */
	int64_t deadline_ms;
};

/* How a command in a shell ended. */
struct shell_outcome {
	bool timed_out;   /* it was killed; the shell is as before it began */
	bool restored;    /* ... and could be given its state again */
	bool interrupted; /* it was, and the shell replaced, or never ran */
	int exit_code;
};

/*
 * Runs a command in a held shell; `p` has the output callbacks.  ERR_GONE
 * "session_terminated" when the shell ends with it, with its status in
 * out->exit_code.
 */
int shell_run(struct shell *s, const struct shell_command *c, struct pump *p,
    struct shell_outcome *out, struct err *e) MUST_CHECK;

/*
 * What a shell of its own must be told to be like this one: "" for one that
 * has not been used.
 */
int shell_state(struct shell *s, struct buf *out, struct err *e) MUST_CHECK;

/* Where the shell is; /workspace when there is none. */
void shell_cwd(const char *name, char out[SHELL_PATH_MAX]);

#endif
