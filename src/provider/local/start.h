/*
 * start.h: from a command line to a running bwrap.
 */
#ifndef SANDLEASE_PROVIDER_LOCAL_START_H
#define SANDLEASE_PROVIDER_LOCAL_START_H

#include <stdint.h>

#include "common/err.h"
#include "provider/box/box.h"
#include "provider/cgroup/cgroup.h"
#include "provider/local/bwrap.h"
#include "provider/provider.h"

struct start {
	const struct provider *p;
	const struct box *box;
	const struct cgroup_tree *cgroups;
	char *const *argv;
	int control; /* listening */
	int lock;    /* held */
	int root;    /* likewise, of its root file system; -1: none */
	int log;
};

/*
 * Starts bwrap as nobody's child, in its groups, with the descriptors of
 * enum bwrap_fd and no others, and records who it is.  Returns when init's
 * pid is known.  "start_failed" when it is not going to be.
 */
int start_bwrap(const struct start *s, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * Runs a command line to its end with /dev/null and a stderr of which the
 * first line is kept.  True when it exits with 0.
 */
bool start_try(char *const *argv, int64_t deadline_ms, char *line, size_t size);

#endif
