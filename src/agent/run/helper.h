/*
 * helper.h: another program that does a part of a call's work.
 *
 * Mostly the agent once more (pack.h), because an archive is for no process
 * that serves a session.  It ends with the call: a client that leaves and an
 * interruption end it, and nobody waits for what it left behind.
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

enum { WORKER_PIPE = -1 };

/* A descriptor is borrowed; WORKER_PIPE: a pipe whose other end is ours. */
struct helper_plan {
	const char *const *argv;
	const char *cwd;
	int in, out, err;
};

struct helper {
	struct child child;
	int in, out, err; /* our ends; -1 where it has none */
};

#define auto_helper __attribute__((cleanup(helper_end)))
#define WORKER_NONE                                                            \
	{                                                                      \
		.child = { -1, -1 }, .in = -1, .out = -1, .err = -1            \
	}

/* Its own path is /proc/self/exe. */
int helper_start(struct helper *w, const struct helper_plan *p, struct err *e)
    MUST_CHECK;

/* Its status, when it has ended by itself. */
int helper_wait(struct helper *w);

/* Ends one that nobody waits for any more. */
void helper_end(struct helper *w);

/* For whom it works. */
struct helper_boss {
	struct call *call;
	struct interrupt_job *job;
	int64_t deadline_ms; /* of clock_ms(); 0: none */
};

/*
 * Until it has ended.  What comes from `from`, one of our ends, is kept in
 * *said, SAID_MAX of it.  -1 when it was given up before: "call_left",
 * "operation_interrupted" or "helper_late"; it is ended then.
 */
int helper_watch(struct helper *w, const struct helper_boss *b, int from,
    struct buf *said, int *status, struct err *e) MUST_CHECK;

/*
 * The next that comes from `fd`; what is more than SAID_MAX is taken and not
 * kept.  False at the end.
 */
bool helper_hear(int fd, struct buf *said);

/* Until `max` bytes are there or the end; how many, -1 with errno. */
ssize_t helper_read(int fd, char *to, size_t max);

#endif
