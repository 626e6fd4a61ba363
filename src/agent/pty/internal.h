/*
 * internal.h: what the files of agent/pty share, and nobody else.
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
	int master; /* until it is freed */
	int slave;  /* so that its program may close all of its own */

	/* under the lock */
	int64_t end_no; /* counts the ends of all */
	char *ring;     /* PTY_RING bytes; byte N is at N % PTY_RING */
	int64_t begin;  /* the number of its first byte */
	int64_t total;
	int64_t typed_ms; /* the last input; 0: none */
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

/* One without a program, that the caller holds. */
struct pty *pty_new(const char *id);

/* All of these with the lock held. */
struct pty *pty_living_of(const char *id); /* held; NULL: there is none */
int pty_admit(struct pty *t, struct err *e) MUST_CHECK;
void pty_keep(struct pty *t, const char *data, size_t len);
void pty_ended(struct pty *t);

/* Before other threads can see it: what the loop does for it. */
void pty_prepare(struct pty *t);

#endif
