/* rlimits.c: sets the rlimits of a cell. */
#include "agent/cell/rlimits.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/base/proctree.h"
#include "common/mem.h"

/*
 * The kernel counts signals, message queues and processes of the user twice: in
 * the sandbox's user namespace against these limits, and on the host against
 * the limits that the service had when it made the namespace.  So each of these
 * must be lower than the service's own, else one sandbox could use up what all
 * sandboxes share.
 */
enum {
	/* for all cells of a sandbox together */
	SIGNALS_MAX = 4096,
	QUEUES_BYTES = 200 * 1024 /* two message queues of the default size */
};

struct limit {
	int what;
	int64_t value; /* 0: leave as it is */
	const char *name;
};

/* Those that depend on the launch. */
enum { LIMITS_COUNT = 3 };

static void
read_limits(const struct launch *l, struct limit out[LIMITS_COUNT])
{
	out[0] = (struct limit){ RLIMIT_NPROC, l->pids, "NPROC" };
	out[1] = (struct limit){ RLIMIT_FSIZE, l->file_mb << 20, "FSIZE" };
	out[2] = (struct limit){ RLIMIT_DATA, l->memory_mb << 20, "DATA" };
}

static int
set_limit(pid_t pid, const struct limit *l, struct err *e)
{
	const struct rlimit r = { (rlim_t)l->value, (rlim_t)l->value };

	if (prlimit(pid, (__rlimit_resource_t)l->what, &r, NULL) < 0)
		return err_errno(e, "RLIMIT_%s", l->name);
	return 0;
}

int
rlimits_set(const struct launch *l, struct err *e)
{
	static const struct limit SAME[] = {
		{ RLIMIT_CORE, 0, "CORE" },
		{ RLIMIT_SIGPENDING, SIGNALS_MAX, "SIGPENDING" },
		{ RLIMIT_MSGQUEUE, QUEUES_BYTES, "MSGQUEUE" },
	};
	struct limit limits[LIMITS_COUNT];

	for (size_t i = 0; i < ARRAY_LEN(SAME); i++)
		if (set_limit(0, &SAME[i], e) < 0)
			return -1;
	read_limits(l, limits);
	for (size_t i = 0; i < LIMITS_COUNT; i++)
		if (limits[i].value > 0 && set_limit(0, &limits[i], e) < 0)
			return -1;
	return 0;
}

/* A process that has ended meanwhile, or lowered its own, is in order. */
static int
lower_limit(pid_t pid, const struct limit *l, struct err *e)
{
	const struct rlimit r = { (rlim_t)l->value, (rlim_t)l->value };
	struct rlimit now;

	if (l->value > 0 &&
	    (prlimit(pid, (__rlimit_resource_t)l->what, NULL, &now) < 0 ||
		(now.rlim_max > r.rlim_max &&
		    prlimit(pid, (__rlimit_resource_t)l->what, &r, NULL) <
			0)) &&
	    errno != ESRCH)
		return err_errno(e, "RLIMIT_%s", l->name);
	return 0;
}

int
rlimits_lower(const struct launch *l, struct err *e)
{
	auto_tree struct proctree all = { 0 };
	struct limit limits[LIMITS_COUNT];

	read_limits(l, limits);
	/* the wrapper first: it starts the others */
	for (size_t i = 0; i < LIMITS_COUNT; i++)
		if (limits[i].value > 0 && set_limit(0, &limits[i], e) < 0)
			return -1;
	proctree_take(1, &all);
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		if (lower_limit(1, &limits[i], e) < 0)
			return -1;
		for (size_t k = 0; k < all.count; k++)
			if (lower_limit(all.procs[k].pid, &limits[i], e) < 0)
				return -1;
	}
	return 0;
}
