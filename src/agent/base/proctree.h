/*
 * proctree.h: everything that a process has started, and ending it.
 *
 * By walking /proc: parents are what the kernel says they are, so neither an
 * empty environment nor a new session nor a double fork hides a process
 * whose ancestor is a subreaper (spawn.h).
 */
#ifndef SANDLEASE_AGENT_BASE_PROCTREE_H
#define SANDLEASE_AGENT_BASE_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_id {
	pid_t pid;
	uint64_t start; /* ticks since boot: tells a reused pid from its old */
};

struct proctree {
	struct proc_id *procs;
	size_t count;
};

#define auto_tree __attribute__((cleanup(proctree_free)))

/* All living descendants of `root`, without itself. */
void proctree_take(pid_t root, struct proctree *out);
/* The same without those that are in `spare` or below one of those. */
void proctree_below(pid_t root, const struct proctree *spare,
    struct proctree *out);
/* Those of several roots, by one look. */
void proctree_take_each(const pid_t *roots, size_t count, struct proctree *out);
void proctree_free(struct proctree *t);

bool proctree_holds(const struct proctree *t, const struct proc_id *id);

/* Of a cell: its wrapper, without which the session would be over.  0: none. */
pid_t proctree_first(const struct proctree *t);

/*
 * Stops root and waits a little until it stands: while it runs it may fork, and
 * what it forks after a look at its tree survives it.
 */
void proctree_stop(pid_t root);

/*
 * Stops root, ends every descendant of it that is neither in `spare` nor
 * below one of those, and ends root last.  root must be a child of ours that
 * has not been waited for.  Returns how many were left (0 but for processes
 * that the kernel cannot kill).
 */
size_t proctree_kill(pid_t root, const struct proctree *spare);
/* The same without root, which goes on. */
size_t proctree_kill_below(pid_t root, const struct proctree *spare);

/* Ends those in `t` that still live, with everything below them. */
void proctree_end(const struct proctree *t);

/* Adds those of `more` to `t`, and drops from it who has ended. */
void proctree_merge(struct proctree *t, const struct proctree *more);

/*
 * A moment in the life of this namespace.  A tick is long enough for a process
 * before and one after it: within one, the number last given out tells them.
 */
struct proc_moment {
	uint64_t tick;
	pid_t last;
};

struct proc_moment proctree_now(void);

/* Descendants of root that were there before `since`. */
void proctree_older(pid_t root, struct proc_moment since, struct proctree *out);

/*
 * Signals every living descendant that is neither in `spare` nor below one of
 * those; 0 only counts them.  Returns how many there are.
 */
size_t proctree_signal(pid_t root, const struct proctree *spare, int sig);
/*
 * CPU time that everything in this namespace but we and the cell's first
 * process has used, with what it has waited for.  What ends may take its
 * share away: any change means that something ran.
 */
int64_t proctree_cpu_ms(void);

/*
 * Parses a line of /proc/PID/stat.  *state is Z only once no thread is left.  For
 * the test.
 */
int proctree_parse(const char *stat, pid_t *pid, char *state, pid_t *ppid,
    uint64_t *start);

#endif
