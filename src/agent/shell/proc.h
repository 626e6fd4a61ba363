/*
 * proc.h: the bash process behind a persistent shell.
 */
#ifndef SANDLEASE_AGENT_SHELL_PROC_H
#define SANDLEASE_AGENT_SHELL_PROC_H

#include <stdint.h>

#include "agent/base/spawn.h"
#include "common/json.h"
#include "common/str.h"

struct shell_proc {
	struct child child; /* pid -1: there is none */
	int to;             /* what it reads its commands from; non-blocking */
	int from;           /* what it answers on */
};

/*
 * Starts one in `cwd`, or $HOME, or /, with `env` (NULL: none) beside the
 * session's.  *env_seq as in envset_envp().
 */
int shell_proc_start(struct shell_proc *p, const char *cwd, const json_t *env,
    int64_t *env_seq, struct err *e) MUST_CHECK;

/* True when it has ended (and not been waited for). */
bool shell_proc_ended(const struct shell_proc *p);

/* Closes what is left of one that has been waited for. */
void shell_proc_close(struct shell_proc *p);

/* The directory it is in; /workspace for no process.  out has 4097 bytes. */
void shell_proc_cwd(pid_t pid, char *out);

/* Where a bash of its own begins and what it has; all borrowed. */
struct shell_proc_place {
	const char *cwd;
	bool cwd_must; /* else $HOME and / will do as well */
	int out, err;
	int input; /* its descriptor 3; 0: none */
};

/* A bash of its own that runs `script`. */
int shell_proc_alone(const struct buf *script,
    const struct shell_proc_place *at, struct child *c, struct err *e)
    MUST_CHECK;

/*
 * The same on a terminal, which becomes that of its session.  The script is
 * its descriptor 3.
 */
int shell_proc_terminal(const struct buf *script, const char *cwd,
    bool cwd_must, int terminal, struct child *c, struct err *e) MUST_CHECK;

#endif
