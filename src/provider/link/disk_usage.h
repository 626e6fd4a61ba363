/*
 * disk_usage.h: what sessions use of the disk, and stopping them.
 *
 * The host never looks into a tenant's files, so a child of init's does, inside
 * the sandbox: out of the reach of the session it measures.  What it says is
 * believed of the sessions of that sandbox only, and is a figure for deciding
 * whom to freeze, no more.
 */
#ifndef SANDLEASE_PROVIDER_LINK_DISK_USAGE_H
#define SANDLEASE_PROVIDER_LINK_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/* All cells together still fit into an int64_t. */
#define AGENT_DISK_USAGE_MAX (INT64_C(1) << 53)

struct agent_disk_usage {
	char session[ID_MAX];
	int64_t generation; /* 0: its agent does not say */
	int64_t bytes;
	int64_t files;    /* inodes; -1: an older agent, which does not count */
	int64_t limit_mb; /* of its whole sandbox; 0: none, or not known */
	bool whole;       /* false: there may be more than was found */
};

/* Of every session that has a cell there.  *out is malloc'ed. */
int agent_disk_usage(const struct provider *p, const char *sandbox,
    const char *incarnation, int64_t deadline_ms, struct agent_disk_usage **out,
    size_t *count, struct err *e) MUST_CHECK;

/* One sandbox's answer. */
struct agent_disk_usages {
	const char *sandbox, *incarnation;
	bool answered;
	struct agent_disk_usage *list; /* malloc'ed; the caller frees it */
	size_t count;
	struct err e; /* why there is no answer */
};

/* Of several sandboxes at once: one that is slow does not hide the others. */
void agent_disk_usage_all(const struct provider *p, int wait_ms,
    struct agent_disk_usages *who, size_t count);

/* SIGSTOP, or SIGCONT, to everything in the cell of that generation. */
int agent_freeze_by_signal(const struct provider *p,
    const struct agent_target *t, bool on, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
