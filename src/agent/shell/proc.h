/*
 * proc.h: starts bash processes: for persistent shells, for single commands and
 * on terminals.
 */
#ifndef SANDLEASE_AGENT_SHELL_PROC_H
#define SANDLEASE_AGENT_SHELL_PROC_H

#include <stdint.h>

#include "agent/base/spawn.h"
#include "common/json.h"
#include "common/str.h"

struct shell_proc {
	struct child child; /* pid -1: no process */
	int to;             /* its stdin, for scripts; non-blocking */
	int from;           /* its stdout, for answers */
};

/*
 * Starts the bash of a persistent shell in `cwd`, else in $HOME, else in /.
 * `env` (NULL: none) wins over the session's variables.  *env_seq as *seq of
 * envset_envp().
 */
int shell_proc_start(struct shell_proc *p, const char *cwd, const json_t *env,
    int64_t *env_seq, struct err *e) MUST_CHECK;

/* True when bash has ended; the caller has not waited for it yet. */
bool shell_proc_ended(const struct shell_proc *p);

/* Closes the pipes, after the caller has waited for bash. */
void shell_proc_close(struct shell_proc *p);

/*
 * The current directory of a process; /workspace if there is no process, or if
 * its directory was removed.  `out` has SHELL_PATH_MAX bytes.
 */
void shell_proc_cwd(pid_t pid, char *out);

/* Directory and descriptors of a bash for one command; all borrowed. */
struct shell_proc_place {
	const char *cwd;
	bool cwd_must; /* fail if cwd cannot be entered; else use $HOME or / */
	int out, err;
	int input;         /* its descriptor 3; 0: none */
	const json_t *env; /* checked variables, which win; NULL: none */
	const int *join;   /* as in struct spawn */
	size_t join_count;
	int64_t cpu_seconds;
};

/* Starts a bash that runs `script` and exits. */
int shell_proc_alone(const struct buf *script,
    const struct shell_proc_place *at, struct child *c, struct err *e)
    MUST_CHECK;

/*
 * Starts a bash that runs `script` with the terminal as stdin, stdout, stderr
 * and controlling terminal.  Bash reads the script from descriptor 3.
 */
int shell_proc_terminal(const struct buf *script, const char *cwd,
    bool cwd_must, int terminal, struct child *c, struct err *e) MUST_CHECK;

#endif
