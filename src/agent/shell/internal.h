/*
 * internal.h: a persistent shell as the files of this room see it.  They call
 * each other in one direction only: life.c < run.c < shell.c < state.c.
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

	/* by the table's lock */
	int refs;             /* the table's, the holder's, waiters' */
	bool held;            /* by one thread, to whom the rest belongs */
	bool deleted;         /* out of the table */
	pthread_cond_t freed; /* no longer held */

	atomic_bool over; /* it died and that was told */
	atomic_int pid;   /* of its process, for who looks; -1: none */

	struct shell_proc proc;  /* pid -1: none */
	struct proctree orphans; /* of its processes before this one */
	struct answers answers;
	struct lock exports_lock; /* answers.exports; holders look without it */
	int64_t seq;
	int64_t env_seq;
};

/* ---- shell/life.c */

/* Starts its process in `cwd`; there must be none. */
int shell_start(struct shell *s, const char *cwd, struct err *e) MUST_CHECK;

/* One that lives, or ERR_GONE for one that died while nobody looked. */
int shell_revive(struct shell *s, struct err *e) MUST_CHECK;

/* It has ended, or is about to: ERR_GONE, with its exitCode.  -1. */
int shell_gone(struct shell *s, struct err *e);

/* Its ends go to the pump, with what it is to be told. */
void shell_connect(const struct shell *s, const struct buf *script,
    struct pump *p);

/* Tells it something that is not the tenant's, until `status` says enough. */
enum pump_end shell_talk(struct shell *s, const struct buf *script,
    pump_status_fn *status, void *ctx);

/* Reads what it says; the exported variables are for others to see too. */
void shell_hear(struct shell *s, const char *data, size_t len);

/* Where it begins. */
const char *shell_home(const struct shell *s);

/* True when there is a process, and it lives. */
bool shell_lives(const struct shell *s);

/* Waits for the end of its process, which is near, and returns its status. */
int shell_reap(struct shell *s);

/* Ends its process, if there is one, with everything that it has started. */
void shell_kill(struct shell *s);

/* ---- shell/run.c */

/* Where commands find their fifos.  Once. */
void shell_run_open(const char *instance);

/* ---- shell/shell.c */

/*
 * The shell of that name without waiting; NULL when there is none.  *held says
 * whether it is the caller's until shell_release(); else shell_look_end().
 */
struct shell *shell_look(const char *name, bool *held);
void shell_look_end(struct shell *s);

#endif
