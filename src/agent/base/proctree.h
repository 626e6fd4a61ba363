/*
 * proctree.h: finds all descendants of a process, and stops or kills them.
 *
 * Walks /proc and takes each parent from the kernel.  So neither an empty
 * environment nor a new session nor a double fork hides a process whose
 * ancestor is a subreaper (spawn.h).
 */
#ifndef SANDLEASE_AGENT_BASE_PROCTREE_H
#define SANDLEASE_AGENT_BASE_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_id {
	pid_t pid;
	uint64_t start; /* ticks since boot: differs when a pid is reused */
};

struct proctree {
	struct proc_id *procs;
	size_t count;
};

#define auto_tree __attribute__((cleanup(proctree_free)))

/* All living descendants of `root`, without root. */
void proctree_take(pid_t root, struct proctree *out);
/* The same without the processes in `spare` and their descendants. */
void proctree_below(pid_t root, const struct proctree *spare,
    struct proctree *out);
/* The descendants of several roots, out[i] of roots[i]; reads /proc once. */
void proctree_take_each(const pid_t *roots, size_t count, struct proctree *out);
void proctree_free(struct proctree *t);

bool proctree_holds(const struct proctree *t, const struct proc_id *id);

/*
 * The oldest process.  In the tree of a cell this is the wrapper, without which
 * the session would be over.  0: t is empty.
 */
pid_t proctree_first(const struct proctree *t);

/*
 * Sends SIGSTOP to root and waits a short time until root has stopped.  A root
 * that runs may fork, and a child forked after the walk of its tree survives.
 */
void proctree_stop(pid_t root);

/*
 * Stops root, kills every descendant that is neither in `spare` nor below a
 * process in `spare`, and kills root last.  root must be a child of the caller
 * that has not been waited for.  Returns how many are left: 0, except for
 * processes that the kernel cannot kill.
 */
size_t proctree_kill(pid_t root, const struct proctree *spare);
/* The same, but root is neither stopped nor killed. */
size_t proctree_kill_below(pid_t root, const struct proctree *spare);

/* Kills the processes in `t` that still live, and all their descendants. */
void proctree_end(const struct proctree *t);

/* Adds the processes of `more` to `t`, and drops ended ones from `t`. */
void proctree_merge(struct proctree *t, const struct proctree *more);

/*
 * A moment in this pid namespace.  Processes can start before and after the
 * moment within the same tick: of these, the ones before it have pids up to
 * `last`, the pid that the kernel gave out last.
 */
struct proc_moment {
	uint64_t tick;
	pid_t last;
};

struct proc_moment proctree_now(void);

/* Descendants of root that were started before `since`. */
void proctree_older(pid_t root, struct proc_moment since, struct proctree *out);

/*
 * Signals every living descendant that is neither in `spare` nor below a
 * process in `spare`; with sig 0, only counts them.  Returns how many there
 * are.
 */
size_t proctree_signal(pid_t root, const struct proctree *spare, int sig);
/* CPU time of one process and the children it has waited for; 0: it is gone. */
struct proc_cpu {
	int64_t own_us, children_us;
};
struct proc_cpu proctree_cpu(pid_t pid);
/*
 * CPU time of all processes in this pid namespace except process 1 and the
 * caller, with that of children they have waited for.  The sum may shrink when
 * a process ends: any change means that a process ran.
 */
int64_t proctree_cpu_ms(void);

/*
 * Parses a line of /proc/PID/stat.  *state is Z only once no thread is left.
 * Public for the unit test.
 */
int proctree_parse(const char *stat, pid_t *pid, char *state, pid_t *ppid,
    uint64_t *start);

#endif
