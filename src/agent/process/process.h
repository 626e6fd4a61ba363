/*
 * process.h: starts, watches and ends the background processes of a session.
 *
 * Each process is a bash of its own.  It begins with the state of the shell it
 * was started in and does not change that shell.  The loop's thread watches all
 * processes: it writes their output to a ring on the disk, whether a client
 * reads it or not, and notes their end.  The newest ended processes are
 * remembered, also by the next wrapper.
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
	PROCESS_LOGS_MB_MAX = 256, /* logs of all ended processes */
	PROCESS_CLEANUP_MS = 3000, /* autoCleanup: kept after the end */
};

/* Reference-counted: the caller that gets one calls process_release(). */
struct process;

struct process_options {
	struct exec exec; /* command, shell, env, cwd, timeout_ms */
	const char *id;   /* borrowed; NULL: a random one */
	bool auto_cleanup;
	bool no_input; /* no input pipe: process_input_open() fails */
};

/*
 * Starts a process; the caller gets a reference.  If the working directory does
 * not exist, the call succeeds and the process has failed at once.
 * ERR_CONFLICT "process_already_exists" if a running process has the id; the id
 * of an ended process is used again.  ERR_LIMITED when too many run.
 */
int process_start(const struct process_options *w, struct process **out,
    struct err *e) MUST_CHECK;

/* ERR_NOT_FOUND "process_not_found". */
int process_find(const char *id, struct process **out, struct err *e)
    MUST_CHECK;
void process_release(struct process *p);

/*
 * All processes, the oldest first.  The caller frees the array and releases
 * each process.
 */
struct process **process_all(size_t *count);

const char *process_id(const struct process *p);
struct process_end process_now(struct process *p);
/* The process as the API shows it. */
json_t *process_json(struct process *p);

/*
 * Ends the process and everything it has started, SIGTERM first; returns when
 * all have ended.  ERR_NOT_FOUND "command_not_found" when the process had ended
 * before.
 */
int process_kill(struct process *p, struct err *e) MUST_CHECK;
/*
 * Ends all running processes, or those started in `shell` unless that is NULL;
 * returns how many.
 */
size_t process_kill_all(const char *shell);

/* Forgets the ended processes; returns how many. */
size_t process_cleanup(void);

/*
 * Sends `sig` to the descendants of the process.  The process itself, a bash,
 * gets it too if it has no descendants, if it has a handler for `sig`, or if
 * `sig` is SIGSTOP or SIGCONT.  SIGKILL ends all of them.
 */
int process_signal(struct process *p, int sig, struct err *e) MUST_CHECK;

/* The output; the caller may read it until process_log_end(). */
const struct ring *process_log_begin(struct process *p);
void process_log_end(struct process *p);

/* w->fd is readable when there is more output or the process has ended. */
int process_watch(struct process *p, struct child_watch *w, struct err *e)
    MUST_CHECK;
void process_unwatch(struct process *p, struct child_watch *w);

/* A caller's turn to write to the input of a process. */
struct process_input {
	struct process *process;
	int fd;
	int gone_fd;          /* hangs up when the client has left; -1: none */
	atomic_llong written; /* bytes that the pipe has taken so far */
	struct child_watch watch; /* readable when the process ends */
};

/*
 * Waits for the caller's turn, so that the bytes of two callers are not mixed.
 * ERR_BUSY "input_full" when the wait takes too long, ERR_CONFLICT
 * "input_closed", ERR_NOT_FOUND when the process has ended.  The same thread
 * ends the turn with process_input_close().
 */
int process_input_open(struct process_input *in, struct process *p, int gone_fd,
    struct err *e) MUST_CHECK;

/*
 * Writes all `len` bytes.  ERR_BUSY "input_full" when the process reads nothing
 * for 30 seconds or the client has left; other errors as above.
 */
int process_input_write(struct process_input *in, const char *data, size_t len,
    struct err *e) MUST_CHECK;

/* -1 and the reason when the process cannot take more input. */
int process_input_check(struct process_input *in, struct err *e) MUST_CHECK;

/* Ends the turn; `end`: also closes the input, for all callers. */
void process_input_close(struct process_input *in, bool end);

/* Waits, one second at most, until the end of every process is noted. */
void process_settle(void);

#endif
