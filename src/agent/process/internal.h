/*
 * internal.h: what the files of agent/process share, and nobody else.
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
	size_t readers; /* of the log */
	int64_t ended_ms;
	int64_t log_bytes;
	int input; /* the writing end; -1: closed */

	struct ring log; /* appended to by the loop's thread */

	/* the loop's thread only */
	struct process_pipe out[2];
	struct child_item timer;
	bool out_of_time; /* it is ended because of its deadline */
};

extern struct child_table process_table;

static inline struct process *
process_of(struct child_entry *c)
{
	return (struct process *)c;
}

/* Before anything is looked for: what an earlier wrapper knew. */
void process_load(void);

/* With the lock held: may one of that id begin? */
int process_admit(const char *id, struct err *e) MUST_CHECK;
/* With the lock held. */
void process_ended(struct process *p, const struct process_end *how);

/* Before other threads can see it: what the loop does for it. */
void process_prepare(struct process *p);

/* Sets the error for a call that needs a process which has ended; -1. */
int process_not_running(const struct process *p, struct err *e);

#endif
