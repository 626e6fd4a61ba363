/*
 * internal.h: declarations for the files of agent/pty only.
 */
#ifndef SANDLEASE_AGENT_PTY_INTERNAL_H
#define SANDLEASE_AGENT_PTY_INTERNAL_H

#include "agent/child/child.h"
#include "agent/pty/pty.h"
#include "agent/shell/shell.h"

enum { PTY_SIGNAL_MAX = 16 };

struct pty {
	struct child_entry entry;
	char id[SHELL_NAME_MAX];
	char shell[PTY_SHELL_MAX];
	pid_t pid;
	int master; /* open until the struct is freed */
	int slave;  /* kept open: the program may close all of its own */

	/* under the lock */
	int64_t end_no; /* this terminal was the Nth of the session to end */
	char *ring;     /* PTY_RING bytes; byte N is at N % PTY_RING */
	int64_t begin;  /* the number of the first byte */
	int64_t total;
	int64_t typed_ms; /* time of the last input, at first of the start */
	int cols, rows;
	int exit_code;
	char signal[PTY_SIGNAL_MAX];

	struct child_item out; /* the loop's thread only */
};

extern struct child_table pty_table;

static inline struct pty *
pty_of(struct child_entry *c)
{
	return (struct pty *)c;
}

/* A terminal without a program; the caller has the reference. */
struct pty *pty_new(const char *id);

/* With the lock held.  The caller gets a reference; NULL: none runs. */
struct pty *pty_living_of(const char *id);
/* With the lock held: ERR_LIMITED when too many run. */
int pty_admit(struct pty *t, struct err *e) MUST_CHECK;
/* With the lock held: appends output to the ring. */
void pty_keep(struct pty *t, const char *data, size_t len);
/* With the lock held. */
void pty_ended(struct pty *t);

/*
 * Registers the callbacks of the loop.  Must come before other threads can see
 * the terminal, because they may end it at once.
 */
void pty_prepare(struct pty *t);

#endif
