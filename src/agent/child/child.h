/*
 * child.h: manages the programs that outlive a call: background processes and
 * terminals.
 *
 * These are two kinds of children, with a table each.  This room has what both
 * need: the table with its lock, finding by id, reference counts, followers
 * (woken by news of a child), turns to write to a child, the loop's
 * part in a child's life, and its end.  A kind keeps the rest in a struct whose
 * first member is a child_entry: a process its log and its record on disk, a
 * terminal its scrollback and its size.
 *
 * Only the loop's thread reads output and waits for ended children.  An entry
 * is freed when its reference count is 0: the table, the loop and callers have
 * references.
 *
 * Each table has its own lock.  A process is started, and its files are made,
 * under the lock of its table; typing in a terminal must not wait for that.
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

/* A kind of children, and the list of them. */
struct child_table {
	const char *one, *many; /* the kind's name, for errors */
	enum err_code failed, too_many;
	size_t living_max;
	bool hang_up; /* at the end, SIGHUP to those that ignore SIGTERM */
	void (*each_second)(void); /* called in the loop's thread; or NULL */
	/* called with the lock held, when c has left the table; or NULL */
	void (*removed)(struct child_entry *c);
	/* called with the lock held, when c has no reference left; frees c */
	void (*destroy)(struct child_entry *c);

	struct lock lock;
	pthread_cond_t changed;   /* a child has ended, or a turn is over */
	struct child_entry **all; /* the oldest first */
	size_t count, room;
};

/* A descriptor of a child that the loop watches. */
struct child_item {
	struct loop_item item;
	struct child_entry *entry;
	int fd; /* -1: not watched */
	struct child_item *next;
};

/* A follower: fd becomes readable when there is news of the child. */
struct child_watch {
	int fd; /* a non-blocking eventfd; the follower reads it */
	struct child_watch *next;
};

struct child_entry {
	struct child_table *table;
	const char *id; /* owned by the kind's struct */
	bool counted;   /* counts as activity; not started by a probe */

	/* under the lock */
	size_t refs;  /* the reference count */
	size_t pins;  /* while > 0, the child is not waited for */
	bool listed;  /* in the table; else another child may have the id */
	bool ended;   /* the child has ended, and its output is read */
	bool ending;  /* a thread is ending the child */
	bool reaping; /* the loop is noting the child's end */
	bool writing; /* a thread has the turn to write */
	struct child_watch *watches;

	/* the loop's thread only */
	struct child child;
	struct child_item exit;
	struct child_item *items; /* list of all items, `exit` included */
	void (*finish)(struct child_entry *c);
	bool attached;
	struct child_entry *loose; /* next entry that the loop will release */
};

/* ---- table.c */

/* Initializes c, with a reference for the caller.  `id` must outlive c. */
void child_init(struct child_entry *c, struct child_table *t, const char *id);

void child_lock(struct child_table *t);
void child_unlock(struct child_table *t);

/* With the lock held: waits for `changed`; false: the deadline has passed. */
bool child_wait(struct child_table *t, int64_t deadline_ms);

/* With the lock held.  child_named() adds no reference. */
struct child_entry *child_named(const struct child_table *t, const char *id);
size_t child_living(const struct child_table *t);
/* ERR_LIMITED when living_max children live. */
int child_admit(const struct child_table *t, struct err *e) MUST_CHECK;
/*
 * Adds c to the table, and removes the child with the same id.  Adds a
 * reference for the table and, if c runs, a reference for the loop.
 */
void child_enter(struct child_entry *c);
/* Removes c from the table, if it is there, with the table's reference. */
void child_remove(struct child_entry *c);
/* Drops a reference. */
void child_drop(struct child_entry *c);
/* Wakes the followers. */
void child_wake(const struct child_entry *c);
/* Marks c as ended; wakes its followers and the threads in child_wait(). */
void child_ended(struct child_entry *c);

/*
 * With the lock held: waits until no other thread writes to c, so that the
 * bytes of two callers are not mixed.  False when c has ended, or after `ms`.
 */
bool child_take_turn(struct child_entry *c, int64_t ms);
void child_give_turn(struct child_entry *c);

/* Without the lock: finds a child and adds a reference; NULL: none. */
struct child_entry *child_find(struct child_table *t, const char *id);
/* All children, a reference added to each; the caller frees the array. */
struct child_entry **child_all(struct child_table *t, size_t *count);
void child_release(struct child_entry *c);
bool child_lives(struct child_entry *c);
int child_watch(struct child_entry *c, struct child_watch *w, struct err *e)
    MUST_CHECK;
void child_unwatch(struct child_entry *c, struct child_watch *w);

/* ---- life.c */

/*
 * Sets the callback that the loop calls when the child has ended and is not
 * pinned; to be called before other threads can see c.  finish() must wait for
 * the child, call child_ended() and, when it needs no item any more,
 * child_let_go().
 */
void child_prepare(struct child_entry *c,
    void (*finish)(struct child_entry *c));
/* Adds an item; child_attach() watches it if its fd is set by then. */
void child_add_item(struct child_entry *c, struct child_item *i,
    void (*ready)(struct loop_item *item, uint32_t events));

/*
 * Makes the loop watch the child.  If the loop cannot, kills the child and
 * removes it from the table, as if it had never been.
 */
int child_attach(struct child_entry *c, struct err *e) MUST_CHECK;

/* In the loop's thread. */
bool child_is_reaped(const struct child_entry *c); /* was waited for */
void child_close_item(struct child_item *i);
void child_let_go(struct child_entry *c);

/*
 * While a child is pinned it may have ended but is not waited for: its pid
 * cannot become another process's.  False when it has ended.
 */
bool child_pin(struct child_entry *c);
void child_unpin(struct child_entry *c);

/* ---- end.c */

/*
 * Ends the children at the same time, with all their descendants, SIGTERM
 * first.  Returns when all have ended, also those that other threads end.
 * False when that takes too long.
 */
bool child_end_all(struct child_entry **all, size_t count);

#endif
