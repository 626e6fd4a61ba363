/*
 * helper.h: runs another program that does a part of a call's work.
 *
 * Mostly that is the agent itself with other arguments: pack.h says why the
 * wrapper must not read archives.  The helper ends with the call: it is killed
 * when the client disconnects or the call is interrupted.  The wrapper does not
 * wait for processes that the helper has started.
 */
#ifndef SANDLEASE_AGENT_RUN_HELPER_H
#define SANDLEASE_AGENT_RUN_HELPER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/base/spawn.h"
#include "agent/run/interrupt.h"
#include "common/err.h"
#include "common/str.h"
#include "web/call.h"

enum { HELPER_PIPE = -1 };

/* Borrowed descriptors; HELPER_PIPE: make a pipe to or from the wrapper. */
struct helper_plan {
	const char *const *argv;
	const char *cwd;
	int in, out, err;
};

struct helper {
	struct child child;
	int in, out, err; /* the wrapper's ends of the pipes; -1: none */
};

#define auto_helper __attribute__((cleanup(helper_end)))
#define HELPER_NONE                                                            \
	{                                                                      \
		.child = { -1, -1 }, .in = -1, .out = -1, .err = -1            \
	}

/* To run the agent itself, argv[0] is /proc/self/exe. */
int helper_start(struct helper *w, const struct helper_plan *p, struct err *e)
    MUST_CHECK;

/* Waits for the helper's end; returns its status. */
int helper_wait(struct helper *w);

/* Kills the helper if it runs, and closes the pipes. */
void helper_end(struct helper *w);

/* The call that the helper works for. */
struct helper_boss {
	struct call *call;
	struct interrupt_job *job;
	int64_t deadline_ms; /* of clock_ms(); 0: none */
};

/*
 * Waits for the helper's end, and keeps in *said up to SAID_MAX bytes that come
 * from `from`, the wrapper's end of a pipe.  If the client disconnects
 * ("call_left"), the job is interrupted ("operation_interrupted") or the
 * deadline passes ("worker_late"), kills the helper and returns -1.
 */
int helper_watch(struct helper *w, const struct helper_boss *b, int from,
    struct buf *said, int *status, struct err *e) MUST_CHECK;

/*
 * Reads once from `fd` and appends to *said; discards bytes beyond SAID_MAX.
 * False at end of file.
 */
bool helper_hear(int fd, struct buf *said);

/* Reads `max` bytes, fewer only at end of file; how many, -1 with errno. */
ssize_t helper_read(int fd, char *to, size_t max);

#endif
