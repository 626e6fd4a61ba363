/*
 * disk_usage.h: asks init how much disk its sessions use, and freezes sessions
 * by signal.
 *
 * The host never looks into a tenant's files.  A child of init measures them
 * inside the sandbox, where the measured session cannot reach it.  Its answer
 * counts only for sessions of that sandbox.  It decides which of them is frozen
 * or put to sleep, nothing more.
 */
#ifndef SANDLEASE_PROVIDER_LINK_DISK_USAGE_H
#define SANDLEASE_PROVIDER_LINK_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/* Small enough: the sum of all cells fits into an int64_t. */
#define AGENT_DISK_USAGE_MAX (INT64_C(1) << 53)

struct agent_disk_usage {
	char session[ID_MAX];
	int64_t generation; /* 0: an older agent, which does not tell */
	int64_t bytes;
	int64_t files;    /* inodes; -1: an older agent, which does not count */
	int64_t limit_mb; /* of its whole sandbox; 0: none, or not known */
	bool whole;       /* false: the session may have more files */
};

/*
 * The disk usage of every session that has a cell in the sandbox.  *out is
 * malloc'ed.
 */
int agent_disk_usage(const struct provider *p, const char *sandbox,
    const char *incarnation, int64_t deadline_ms, struct agent_disk_usage **out,
    size_t *count, struct err *e) MUST_CHECK;

/* One sandbox's answer. */
struct agent_disk_usages {
	const char *sandbox, *incarnation;
	bool answered;
	struct agent_disk_usage *list; /* malloc'ed; the caller frees it */
	size_t count;
	struct err e; /* if there is no answer: why */
};

/*
 * Asks several sandboxes at once, so that a slow one does not delay the answers
 * of the others.
 */
void agent_disk_usage_all(const struct provider *p, int wait_ms,
    struct agent_disk_usages *who, size_t count);

/*
 * Has init send SIGSTOP (`on`) or SIGCONT to all processes in the cell of
 * t->generation.
 */
int agent_freeze_by_signal(const struct provider *p,
    const struct agent_target *t, bool on, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
