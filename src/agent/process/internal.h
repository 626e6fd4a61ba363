/*
 * internal.h: declarations for the files of agent/process only.
 */
#ifndef SANDLEASE_AGENT_PROCESS_INTERNAL_H
#define SANDLEASE_AGENT_PROCESS_INTERNAL_H

#include "agent/child/child.h"
#include "agent/process/process.h"

struct process_pipe {
	struct child_item in;
	enum ring_stream which;
};

struct process {
	struct child_entry entry;
	struct process_record rec; /* rec.end under the lock */

	/* under the lock */
	size_t readers; /* of the log: calls of process_log_begin() */
	int64_t ended_ms;
	int64_t log_bytes;
	int input; /* the writing end; -1: closed */

	struct ring log; /* only the loop's thread appends */

	/* the loop's thread only */
	struct process_pipe out[2];
	struct child_item timer;
	bool out_of_time; /* the deadline ended the process */
};

extern struct child_table process_table;

static inline struct process *
process_of(struct child_entry *c)
{
	return (struct process *)c;
}

/*
 * Loads the records of earlier wrappers into the table, at the first call only.
 * Every function that searches the table calls this first.
 */
void process_load(void);

/*
 * With the lock held: checks that a process of this id may start, and removes
 * an ended one that has the id.
 */
int process_admit(const char *id, struct err *e) MUST_CHECK;
/* With the lock held. */
void process_ended(struct process *p, const struct process_end *how);

/*
 * Registers the callbacks of the loop.  Must come before other threads can see
 * the process, because they may end it at once.
 */
void process_prepare(struct process *p);

/* Sets the error for a call that needs a running process; returns -1. */
int process_not_running(const struct process *p, struct err *e);

#endif
