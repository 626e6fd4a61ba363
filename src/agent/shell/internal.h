/*
 * internal.h: declares a persistent shell for the files of this room, which
 * call each other in one direction only: life.c < run.c < shell.c < state.c.
 */
#ifndef SANDLEASE_AGENT_SHELL_INTERNAL_H
#define SANDLEASE_AGENT_SHELL_INTERNAL_H

#include <stdatomic.h>

#include "agent/base/lock.h"
#include "agent/base/proctree.h"
#include "agent/shell/answers.h"
#include "agent/shell/proc.h"
#include "agent/shell/shell.h"

struct shell {
	char name[SHELL_NAME_MAX];
	json_t *env; /* as in struct shell_options; owned */
	char *cwd;   /* owned; NULL: /workspace */
	int64_t timeout_ms;

	/* protected by the table's lock */
	int refs;             /* reference count: table, holder, waiters */
	bool held;            /* one thread holds the shell and owns the rest */
	bool deleted;         /* removed from the table */
	pthread_cond_t freed; /* signalled when `held` becomes false */

	atomic_bool over; /* the shell died, and a call has reported it */
	atomic_int pid;   /* of its bash, for other threads; -1: none */

	struct shell_proc proc;   /* pid -1: no process */
	struct proctree orphans;  /* background children of replaced bashes */
	struct answers answers;   /* written by the holder */
	struct lock exports_lock; /* for writing answers, and for threads that
				     do not hold the shell */
	int64_t seq;              /* number of the last command */
	int64_t env_seq;          /* last envset change that bash was sent */
};

/* ---- shell/life.c */

/* Starts a bash for the shell in `cwd`; the shell must have none. */
int shell_start(struct shell *s, const char *cwd, struct err *e) MUST_CHECK;

/* Starts a bash if the shell has none; ERR_GONE if its bash has died. */
int shell_revive(struct shell *s, struct err *e) MUST_CHECK;

/*
 * Waits for bash, which has ended or was killed; sets ERR_GONE with its exit
 * code.  Returns -1.
 */
int shell_report_end(struct shell *s, struct err *e);

/* Gives the pump the shell's descriptors, and the script to write to bash. */
void shell_connect(const struct shell *s, const struct buf *script,
    struct pump *p);

/* Sends bash a script of ours, and reads answers until `status` is true. */
enum pump_end shell_send_script(struct shell *s, const struct buf *script,
    pump_status_fn *status, void *ctx);

/* Parses bash's answers, with exports_lock: other threads read the exports. */
void shell_read_answers(struct shell *s, const char *data, size_t len);

/* The directory in which the shell starts. */
const char *shell_home(const struct shell *s);

/* True when the shell has a bash, and it has not ended. */
bool shell_lives(const struct shell *s);

/* Waits for bash, which has ended or was killed, and returns its status. */
int shell_reap(struct shell *s);

/* Kills the shell's bash, if there is one, and everything it has started. */
void shell_kill(struct shell *s);

/* ---- shell/run.c */

/* Sets the directory of the commands' fifos.  Called once. */
void shell_run_open(const char *instance);

/* ---- shell/shell.c */

/*
 * Returns the shell of that name without waiting; NULL: there is none.  *held
 * true: the caller holds it and calls shell_release().  *held false: another
 * thread holds it; the caller has a reference only and calls shell_unref().
 */
struct shell *shell_try_hold(const char *name, bool *held);
void shell_unref(struct shell *s);

#endif
