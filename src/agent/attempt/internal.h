/*
 * internal.h: declarations for the files of agent/attempt only.
 */
#ifndef SANDLEASE_AGENT_ATTEMPT_INTERNAL_H
#define SANDLEASE_AGENT_ATTEMPT_INTERNAL_H

#include "agent/attempt/journal.h"
#include "agent/attempt/meter.h"
#include "agent/base/lock.h"
#include "agent/base/ring.h"
#include "agent/shell/shell.h"
#include "common/json.h"
#include "common/str.h"

/* The work of an attempt, as the host has sent it. */
struct attempt_spec {
	char *command; /* owned */
	json_t *env;   /* owned; or NULL */
	json_t
	    *files; /* owned; [{path, content | contentBase64, mode, secret}] */
	json_t *collect; /* owned; patterns of files to keep */
	int64_t collect_bytes;
	char cwd[SHELL_PATH_MAX];
	struct attempt_limits {
		int64_t memory_mb, cpu_seconds, wall_seconds, pids, disk_mb;
	} limits; /* 0: no limit */
	int64_t concurrency;
};

struct attempt {
	/* under the lock */
	struct attempt *next;
	size_t refs;
	struct attempt_record rec;
	bool taken;               /* the host has recorded its end */
	enum attempt_reason stop; /* why it must end; REASON_NONE */
	int64_t deadline_ms;      /* of clock_ms(); 0: none */
	int wake;                 /* an eventfd: `stop` is set */

	struct attempt_spec spec;
	struct attempt_meters meters;
	struct ring log; /* only its thread appends */

	/* its thread only */
	struct journal_times times;
	int64_t began_ms;
	struct buf tail; /* the last bytes of stderr */
};

/* ---- shared.c */

extern struct lock attempt_lock;
extern pthread_cond_t attempt_moved; /* one has begun, spoken or ended */

/* There is more output of some attempt. */
void attempt_news(void);

/* Some attempt has begun, spoken or ended; the lock is held. */
void attempt_news_locked(void);

/* Clients that are told of news; the lock is held. */
struct attempt_follower;
void attempt_followers_add(struct attempt_follower *f);
void attempt_followers_remove(struct attempt_follower *f);

/* Has it end for this reason, unless it has another one already. */
void attempt_stop(struct attempt *a, enum attempt_reason why);
void attempt_stop_locked(struct attempt *a, enum attempt_reason why);
enum attempt_reason attempt_told(struct attempt *a);

/* Whether the session ends. */
bool attempt_is_leaving_locked(void);
bool attempt_is_leaving(int64_t wait_ms);

/* ---- queue.c */

/* With the lock held; NULL: it is not in memory. */
struct attempt *attempt_find(const char *id);
void attempt_drop(struct attempt *a);

/* ---- run.c */

/* Runs it to its end, which is set in *r; in a thread of its own. */
void attempt_run(struct attempt *a, struct attempt_record *r);

/* ---- spec.c */

int attempt_spec_read(int fd, struct attempt_spec *out, struct err *e)
    MUST_CHECK;
void attempt_spec_free(struct attempt_spec *s);

/* ---- given.c */

/* Writes the files that the execution brings.  The error names one. */
int attempt_files_write(const struct attempt *a, struct err *e) MUST_CHECK;
/* Removes those that are secret. */
void attempt_files_remove(const struct attempt *a);

/* ---- collect.c */

/* Copies the files that are to be kept, for attempt_read().  False: none. */
bool attempt_collect(const struct attempt *a);

/* ---- disk.c */

struct attempt_disk;

/*
 * Measures the session's files, before the attempt begins and then in a thread,
 * and ends the attempt if they grow by more than its limit.  NULL without one.
 */
struct attempt_disk *attempt_disk_begin(struct attempt *a);
/* Measures a last time; returns the growth in bytes, -1 if it is not known. */
int64_t attempt_disk_end(struct attempt_disk *d);

#endif
