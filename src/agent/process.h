/*
 * process.h: the background processes of a session.
 *
 * Each is a bash of its own that begins like the shell it was started in and
 * does not change it.  All of them are watched by the loop's thread: output
 * goes to a ring on the disk whether somebody reads it or not, and the end is
 * noted.  What has ended is remembered, the newest ones only, also by the next
 * wrapper.
 */
#ifndef SANDLEASE_AGENT_PROCESS_H
#define SANDLEASE_AGENT_PROCESS_H

#include "agent/exec.h"
#include "agent/process_store.h"
#include "agent/ring.h"
#include "common/err.h"
#include "common/json.h"

enum {
	PROCESS_LIVING_MAX = 256,
	PROCESS_ENDED_MAX = 1000,
	PROCESS_LOGS_MB_MAX = 256, /* of all that have ended */
	PROCESS_CLEANUP_MS = 3000, /* time to ask how autoCleanup ended */
};

struct process; /* held by whoever found it, until process_release() */

struct process_wish {
	struct exec exec; /* command, shell, env, cwd, timeout_ms */
	const char *id;   /* borrowed; NULL: a new one is made */
	bool auto_cleanup;
	bool
	    no_input; /* it reads nothing, rather than what process_input sends */
};

/*
 * Starts one and holds it.  A directory that is not there is a process that
 * failed at once.  ERR_CONFLICT "process_already_exists" for the id of one that
 * lives; one that has ended gives its id up.  ERR_LIMITED when there are too
 * many.
 */
int process_start(const struct process_wish *w, struct process **out,
    struct err *e) MUST_CHECK;

/* ERR_NOT_FOUND "process_not_found". */
int process_find(const char *id, struct process **out, struct err *e)
    MUST_CHECK;
void process_release(struct process *p);

/* All of them, held, the oldest first; the array is the caller's. */
struct process **process_all(size_t *count);

const char *process_id(const struct process *p);
struct process_end process_now(struct process *p);
/* As the routes show it. */
json_t *process_json(struct process *p);

/*
 * Ends it with everything it has started, SIGTERM first; returns when that is
 * done.  ERR_NOT_FOUND "command_not_found" when it has ended by itself.
 */
int process_kill(struct process *p, struct err *e) MUST_CHECK;
/* All that live, or those started in that shell (NULL: any); how many. */
size_t process_kill_all(const char *shell);

/* Forgets what has ended; how many that were. */
size_t process_cleanup(void);

/*
 * Sends a signal to what it has started; to its own shell only if that catches
 * it, has started nothing, or the signal is one that cannot be caught.
 */
int process_signal(struct process *p, int sig, struct err *e) MUST_CHECK;

struct process_input {
	const char *data;
	size_t len;
	bool close;  /* nothing more will come */
	int gone_fd; /* readable hang-up: nobody waits any more; -1: none */
};

/*
 * Writes to what it reads.  *written says how much it has taken, also when it
 * does not read on: ERR_BUSY "input_full".
 */
int process_input(struct process *p, const struct process_input *in,
    size_t *written, struct err *e) MUST_CHECK;

/* Its output; may be read until process_log_end(). */
const struct ring *process_log_begin(struct process *p);
void process_log_end(struct process *p);

/* Readable when there is more output, or it has ended. */
struct process_watch {
	int fd; /* an eventfd */
	struct process_watch *next;
};

int process_watch(struct process *p, struct process_watch *w, struct err *e)
    MUST_CHECK;
void process_unwatch(struct process *p, struct process_watch *w);

/* Waits, not long, until the ends of all have been noted. */
void process_settle(void);

#endif
