/*
 * internal.h: what the files process*.c share, and nobody else.
 */
#ifndef SANDLEASE_AGENT_PROCESS_INTERNAL_H
#define SANDLEASE_AGENT_PROCESS_INTERNAL_H

#include <pthread.h>

#include "agent/base/loop.h"
#include "agent/base/spawn.h"
#include "agent/process/process.h"

/* What the loop watches of a process. */
struct process_item {
	struct loop_item item;
	struct process *process;
	int fd; /* -1: not watched */
};

struct process_pipe {
	struct process_item in;
	enum ring_stream which;
};

struct process {
	struct process_record rec; /* rec.end under the lock */
	bool counted;              /* as work */

	/* under the lock */
	size_t refs;      /* the table's, the loop's, the callers' */
	size_t readers;   /* of the log */
	size_t pins;      /* while there are any, it is not waited for */
	bool ending;      /* somebody ends it */
	bool reaping;     /* its end is being noted */
	bool out_of_time; /* ... because of its deadline */
	bool removed;     /* its name and files may be another's */
	int64_t ended_ms;
	int64_t log_bytes;
	int input; /* the writing end; -1: closed */
	bool input_busy;
	bool input_taken; /* it is somebody's turn to write */
	struct process_watch *watches;

	struct ring log; /* appended to by the loop's thread */

	/* the loop's thread only */
	struct child child;
	struct process_pipe out[2];
	struct process_item exit, timer;
	bool attached;
	struct process *loose; /* among those the loop lets go of */
};

extern pthread_mutex_t process_lock;
extern pthread_cond_t process_changed; /* one has ended */

/* All of these with the lock held. */
int process_admit(const char *id, struct err *e) MUST_CHECK;
void process_enter(struct process *p); /* into the table, which holds it */
void process_remove(struct process *p);
void process_wake(const struct process *p);
void process_ended(struct process *p, const struct process_end *how);
size_t process_living(void);

/* Before anybody can see it. */
void process_prepare(struct process *p);

/* From here on the loop watches it and holds it. */
int process_attach(struct process *p, struct err *e) MUST_CHECK;

/*
 * While it is pinned it may be dead but has not been waited for, so that its
 * number is its own.  ERR_NOT_FOUND "command_not_found" when it has ended.
 */
int process_pin(struct process *p, struct err *e) MUST_CHECK;
void process_unpin(struct process *p);

/* What is said of one that has ended; -1. */
int process_not_running(const struct process *p, struct err *e);

/* Ends a process that the thread holds. */
void *process_end_thread(void *process);

/* Those whose time as a record is over; about once a second. */
void process_sweep(void);

#endif
