/*
 * attempt.h: runs attempts of executions, one after the other and within
 * limits.
 *
 * The host puts an attempt into the queue and asks for it until it has ended.
 * Both may be repeated: an attempt that is known is not run again.  The queue
 * is first in, first out; `concurrency` attempts run at once.  Each has a bash
 * of its own, which joins the cgroups that the host has made for it, and a
 * thread that reads its output and measures it.  At the end of an attempt
 * nothing of it runs any more.
 *
 * Ended attempts are on the disk, also for the next wrapper: journal.h.
 */
#ifndef SANDLEASE_AGENT_ATTEMPT_ATTEMPT_H
#define SANDLEASE_AGENT_ATTEMPT_ATTEMPT_H

#include "agent/attempt/journal.h"
#include "agent/base/ring.h"
#include "common/channel.h"
#include "common/err.h"
#include "common/json.h"

enum {
	ATTEMPT_QUEUED_MAX = 200,
	ATTEMPT_ENDED_MAX = 100,   /* of those that the host has taken */
	ATTEMPT_UNTAKEN_MAX = 400, /* queued, running, or ended and not taken */
	ATTEMPT_AT_ONCE_MAX = 16,
	ATTEMPT_FILES_MAX = 200,
	ATTEMPT_SPEC_MAX = 2 * 1024 * 1024
};

/*
 * Puts an attempt into the queue, or finds it.  `msg` has "id", "joins" (how
 * many descriptors follow the first, by which it joins its groups) and "meters"
 * (a list of {what, key, part}; their descriptors come next).  The first
 * descriptor is a file with the rest: {command | argv, cwd, env, files, collect,
 * collectBytes, limits, concurrency}.  Errors: "execution_queue_full".
 */
int attempt_put(const json_t *msg, struct channel_fds *fds, json_t *reply,
    struct err *e) MUST_CHECK;

/*
 * Tells how far the attempt "id" is.  Waits up to "waitMs" for its end or, if
 * there is "offset", for output after that offset.  The reply says "known":
 * false of an attempt that no wrapper has seen.
 */
int attempt_ask(const json_t *msg, json_t *reply, struct err *e) MUST_CHECK;

/* Ends the attempt "id", or takes it out of the queue; does not wait. */
int attempt_cancel(const json_t *msg, json_t *reply, struct err *e) MUST_CHECK;

/*
 * Copies a piece of what the attempt "id" has left into the memory of the first
 * descriptor, as much as fits: "file" (log, times, list, or the number of a
 * file in that list) from "offset" on.  The reply has "bytes" and the "offset"
 * of the first.
 */
int attempt_read(const json_t *msg, const struct channel_fds *fds,
    json_t *reply, struct err *e) MUST_CHECK;

/*
 * The host has recorded the end of the attempt "id", and has all that it has
 * left: only its record stays.  Until then the attempt is not forgotten; it
 * would be run again.
 */
int attempt_kept(const json_t *msg, struct err *e) MUST_CHECK;

/* A client that follows the output of an attempt. */
struct attempt_follower {
	int news; /* an eventfd: there may be more output, or the end */
	struct attempt *attempt;       /* NULL: an earlier wrapper's */
	struct ring disk;              /* its log */
	struct attempt_record rec;     /* as of attempt_follow_state() */
	struct attempt_follower *next; /* for agent/attempt only */
};

/* *known is false if no wrapper has seen the attempt. */
int attempt_follow(const char *id, struct attempt_follower *f, bool *known,
    struct err *e) MUST_CHECK;
/* Sets f->rec; once it has ended no more output comes. */
void attempt_follow_state(struct attempt_follower *f);
/* As ring_read(). */
bool attempt_follow_read(struct attempt_follower *f, int64_t offset,
    struct ring_block *b);
void attempt_unfollow(struct attempt_follower *f);

/*
 * The session ends: an attempt that is killed from now on is lost, and has not
 * failed.
 */
void attempt_leave(void);

/* Waits, a second at most, until no attempt runs: the session ends. */
void attempt_settle(void);

#endif
