/*
 * start.h: starts bwrap, or sandlease-launch, with a given command line.
 */
#ifndef SANDLEASE_PROVIDER_LOCAL_START_H
#define SANDLEASE_PROVIDER_LOCAL_START_H

#include <stdint.h>

#include "common/err.h"
#include "provider/box/box.h"
#include "provider/cgroup/cgroup.h"
#include "provider/local/bwrap.h"
#include "provider/provider.h"

/* The descriptor from which sandlease-launch reads. */
enum { START_GO_FD = BWRAP_FD__END };

struct bwrap_start {
	const struct provider *p;
	const struct box *box;
	const struct cgroup_tree *cgroups;
	char *const *argv;
	bool own;    /* the program is sandlease-launch */
	int control; /* init's listening socket */
	int lock;    /* of box_hold() */
	int root;    /* of rootfs_hold(); -1: none */
	int log;     /* agent.log */
};

/*
 * Starts bwrap in its cgroups, as a process that outlives this worker, with the
 * descriptors of enum bwrap_fd and no others.  Records the pids of bwrap and
 * init in the box, and returns when both are known.  "start_failed" when bwrap
 * or init has died.  sandlease-launch ends when the pids are recorded.
 */
int start_bwrap(const struct bwrap_start *s, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * Runs a program to its end, with /dev/null as stdin and stdout; the first line
 * of its stderr is copied to `line`.  True when it exits with 0.
 */
bool start_try(char *const *argv, int64_t deadline_ms, char *line, size_t size);

#endif
