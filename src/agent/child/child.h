/*
 * child.h: programs that run beside the requests of a session.
 *
 * Background processes and terminals are two kinds of them.  What both need is
 * here: a table of each kind with its lock, finding by id, who holds an entry,
 * who follows it, whose turn it is to write to it, the loop's part in its life,
 * and its end.  A kind keeps the rest in a struct whose first member is a
 * child_entry: a process its log and its record on the disk, a terminal its
 * scrollback and its size.
 *
 * The loop's thread alone reads output and waits for the dead.  An entry is
 * freed when nobody holds it: the table, the loop and callers do.
 *
 * Each table has a lock of its own.  A process is started, with its files,
 * under the lock; what is typed in a terminal must not wait for that.
 */
#ifndef SANDLEASE_AGENT_CHILD_CHILD_H
#define SANDLEASE_AGENT_CHILD_CHILD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/lock.h"
#include "agent/base/loop.h"
#include "agent/base/spawn.h"
#include "common/err.h"

struct child_entry;

/* A kind of children, and those that there are. */
struct child_table {
	const char *one, *many; /* as errors call them */
	enum err_code failed, too_many;
	size_t living_max;
	bool hang_up; /* what ignores SIGTERM gets SIGHUP when it is ended */
	void (*each_second)(void); /* in the loop's thread; or NULL */
	/* with the lock held: it has left the table; or NULL */
	void (*removed)(struct child_entry *c);
	/* with the lock held: nobody holds it any more */
	void (*destroy)(struct child_entry *c);

	struct lock lock;
	pthread_cond_t changed;   /* one has ended, or a turn is over */
	struct child_entry **all; /* in the order in which they began */
	size_t count, room;
};

/* A descriptor of a child that the loop watches. */
struct child_item {
	struct loop_item item;
	struct child_entry *entry;
	int fd; /* -1: not watched */
	struct child_item *next;
};

/* Readable when there is news of a child. */
struct child_watch {
	int fd; /* an eventfd, non-blocking: read it when it is readable */
	struct child_watch *next;
};

struct child_entry {
	struct child_table *table;
	const char *id; /* the kind's */
	bool counted;   /* what it does is work, not a probe's */

	/* under the lock */
	size_t refs;  /* who holds it */
	size_t pins;  /* while there are any, it is not waited for */
	bool listed;  /* in the table; else its name may be another's */
	bool ended;   /* and all that it wrote has been read */
	bool ending;  /* a thread ends it */
	bool reaping; /* its end is being noted */
	bool writing; /* it is a thread's turn to write to it */
	struct child_watch *watches;

	/* the loop's thread only */
	struct child child;
	struct child_item exit;
	struct child_item *items; /* the list of all, that one too */
	void (*finish)(struct child_entry *c);
	bool attached;
	struct child_entry *loose; /* among those the loop lets go of */
};

/* ---- table.c */

/* One that the caller holds, of that kind; `id` lives as long as it does. */
void child_init(struct child_entry *c, struct child_table *t, const char *id);

void child_lock(struct child_table *t);
void child_unlock(struct child_table *t);

/* With the lock held: until something changes; false: the time is over. */
bool child_wait(struct child_table *t, int64_t deadline_ms);

/* With the lock held; the one that is found is not held. */
struct child_entry *child_named(const struct child_table *t, const char *id);
size_t child_living(const struct child_table *t);
/* ERR_LIMITED when as many live as may. */
int child_admit(const struct child_table *t, struct err *e) MUST_CHECK;
/*
 * Into the table, in the place of the one of that name.  The table holds it,
 * and if it runs, so does the loop.
 */
void child_enter(struct child_entry *c);
/* Out of the table, if it is there. */
void child_remove(struct child_entry *c);
void child_drop(struct child_entry *c);
void child_wake(const struct child_entry *c);
/* It has ended; those who wait for that or follow it are woken. */
void child_ended(struct child_entry *c);

/*
 * With the lock held: waits until no other thread writes to it, so that what
 * two callers write is not mixed.  False when it has ended, or `ms` are over.
 */
bool child_take_turn(struct child_entry *c, int64_t ms);
void child_give_turn(struct child_entry *c);

/* Without the lock.  The one of that name, held; NULL: there is none. */
struct child_entry *child_find(struct child_table *t, const char *id);
/* All, held, the oldest first; the array is the caller's. */
struct child_entry **child_all(struct child_table *t, size_t *count);
void child_release(struct child_entry *c);
bool child_lives(struct child_entry *c);
int child_watch(struct child_entry *c, struct child_watch *w, struct err *e)
    MUST_CHECK;
void child_unwatch(struct child_entry *c, struct child_watch *w);

/* ---- life.c */

/*
 * Before other threads can see it: what the loop calls when it is dead and not
 * pinned.  That must wait for it, call child_ended() and, when it needs none of
 * its items any more, child_let_go().
 */
void child_prepare(struct child_entry *c,
    void (*finish)(struct child_entry *c));
/* One more descriptor for the loop to watch, when it has one. */
void child_add_item(struct child_entry *c, struct child_item *i,
    void (*ready)(struct loop_item *item, uint32_t events));

/*
 * From here on the loop watches it.  If it cannot, the child is killed and out
 * of the table, as if it had never been.
 */
int child_attach(struct child_entry *c, struct err *e) MUST_CHECK;

/* In the loop's thread. */
bool child_is_reaped(const struct child_entry *c); /* it was waited for */
void child_close_item(struct child_item *i);
void child_let_go(struct child_entry *c);

/*
 * While it is pinned it may be dead but has not been waited for, so that its
 * number is its own.  False when it has ended.
 */
bool child_pin(struct child_entry *c);
void child_unpin(struct child_entry *c);

/* ---- end.c */

/*
 * Ends them side by side with everything that they have started, SIGTERM first;
 * returns when none of them lives, whoever ended it.  False when that took too
 * long.
 */
bool child_end_all(struct child_entry **all, size_t count);

#endif
