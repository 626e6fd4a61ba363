/*
 * process.h: the background processes of a session.
 *
 * Each is a bash of its own that begins like the shell it was started in and
 * does not change it.  All of them are watched by the loop's thread: output
 * goes to a ring on the disk whether somebody reads it or not, and the end is
 * noted.  What has ended is remembered, the newest ones only, also by the next
 * wrapper.
 */
#ifndef SANDLEASE_AGENT_PROCESS_PROCESS_H
#define SANDLEASE_AGENT_PROCESS_PROCESS_H

#include <stdatomic.h>

#include "agent/base/ring.h"
#include "agent/child/child.h"
#include "agent/process/store.h"
#include "agent/shell/exec.h"
#include "common/err.h"
#include "common/json.h"

enum {
	PROCESS_LIVING_MAX = 256,
	PROCESS_ENDED_MAX = 1000,
	PROCESS_LOGS_MB_MAX = 256, /* of all that have ended */
	PROCESS_CLEANUP_MS = 3000, /* time to ask how autoCleanup ended */
};

struct process; /* held by whoever found it, until process_release() */

struct process_options {
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
int process_start(const struct process_options *w, struct process **out,
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

/* Its output; may be read until process_log_end(). */
const struct ring *process_log_begin(struct process *p);
void process_log_end(struct process *p);

/* Readable when there is more output, or it has ended. */
int process_watch(struct process *p, struct child_watch *w, struct err *e)
    MUST_CHECK;
void process_unwatch(struct process *p, struct child_watch *w);

/* A turn at writing to what a process reads. */
struct process_input {
	struct process *process;
	int fd;
	int gone_fd; /* readable hang-up: nobody waits any more; -1: none */
	atomic_llong written;     /* so far: what the pipe has taken */
	struct child_watch watch; /* to see its end */
};

/*
 * Waits until it is our turn, so that what two callers write is not mixed.
 * ERR_BUSY "input_full" when that takes too long, ERR_CONFLICT "input_closed",
 * ERR_NOT_FOUND when it has ended.  Ends with process_input_close(), in the
 * same thread.
 */
int process_input_open(struct process_input *in, struct process *p, int gone_fd,
    struct err *e) MUST_CHECK;

/*
 * Writes all of it.  ERR_BUSY "input_full" when the process has read nothing
 * for a while, else as above.
 */
int process_input_write(struct process_input *in, const char *data, size_t len,
    struct err *e) MUST_CHECK;

/* Whether it can take more; says why not. */
int process_input_check(struct process_input *in, struct err *e) MUST_CHECK;

/* Our turn is over; `end`: nothing more will come from anybody. */
void process_input_close(struct process_input *in, bool end);

/* Waits, not long, until the ends of all have been noted. */
void process_settle(void);

#endif
