/*
 * internal.h: what the files pty*.c share, and nobody else.
 */
#ifndef SANDLEASE_AGENT_PTY_INTERNAL_H
#define SANDLEASE_AGENT_PTY_INTERNAL_H

#include <pthread.h>

#include "agent/base/loop.h"
#include "agent/base/spawn.h"
#include "agent/pty/pty.h"
#include "agent/shell/shell.h"

enum { PTY_SIGNAL_MAX = 16 };

/* What the loop watches of a terminal. */
struct pty_item {
	struct loop_item item;
	struct pty *pty;
};

struct pty {
	char id[SHELL_NAME_MAX];
	char shell[PTY_SHELL_MAX];
	pid_t pid;
	int master;   /* until it is freed */
	int slave;    /* so that its program may close all of its own */
	bool counted; /* what it does is work, not a probe's */

	/* under the lock */
	size_t refs;    /* the table's, the loop's, the callers' */
	size_t pins;    /* while there are any, it is not waited for */
	bool ended;     /* and all that it wrote is in the ring */
	int64_t end_no; /* counts the ends of all */
	bool reaping;   /* its end is being noted */
	bool ending;    /* somebody ends it */
	bool listed;    /* in the table */
	bool typing;    /* it is somebody's turn */
	char *ring;     /* PTY_RING bytes; byte N is at N % PTY_RING */
	int64_t begin;  /* the number of its first byte */
	int64_t total;
	int64_t typed_ms; /* the last input; 0: none */
	int cols, rows;
	int exit_code;
	char signal[PTY_SIGNAL_MAX];
	struct pty_watch *watches;

	/* the loop's thread only */
	struct child child;
	struct pty_item out, exit;
	bool attached;
	struct pty *loose; /* among those the loop lets go of */
};

extern pthread_mutex_t pty_lock;
extern pthread_cond_t pty_changed; /* one has ended, or a turn is over */

/* All of these with the lock held. */
size_t pty_living(void);
struct pty *pty_living_of(const char *id); /* held; NULL: there is none */
int pty_admit(struct pty *t, struct err *e) MUST_CHECK;
void pty_enter(struct pty *t); /* into the table, which holds it */
void pty_remove(struct pty *t);
void pty_wake(const struct pty *t);
void pty_keep(struct pty *t, const char *data, size_t len);
void pty_ended(struct pty *t);
void pty_drop(struct pty *t);
/* False when `deadline_ms` of clock_ms() is over. */
bool pty_wait(int64_t deadline_ms);

/* As pty_watch(), by one who is no client. */
int pty_listen(struct pty *t, struct pty_watch *w, struct err *e) MUST_CHECK;
void pty_unlisten(struct pty *t, struct pty_watch *w);

/* From here on the loop watches it and holds it. */
int pty_attach(struct pty *t, struct err *e) MUST_CHECK;

/*
 * While it is pinned it may be dead but has not been waited for, so that its
 * number is its own.  False when it has ended, or somebody ends it already.
 */
bool pty_claim(struct pty *t);
void pty_unpin(struct pty *t);

#endif
