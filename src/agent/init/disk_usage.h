/*
 * disk_usage.h: how much of the disk sessions use.
 *
 * Counted by a child of init's, inside the sandbox but outside every cell: the
 * host must not look into a tenant's tree, and a wrapper, which lives beside
 * the tenant's code, could be made to lie.  It may read directories and processes
 * that the tenant has closed, by capabilities of the sandbox's own user namespace.
 * Only directories are opened, never through a symlink; the walk has a budget
 * and says when it did not see all.
 */
#ifndef SANDLEASE_AGENT_INIT_DISK_USAGE_H
#define SANDLEASE_AGENT_INIT_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/init/cells.h"

/*
 * An inode costs at least this much, however little is in it: so many fit on a
 * disk that its block size is a fair price.
 */
enum { USAGE_INODE_BYTES = 4096 };

struct disk_usage {
	int64_t bytes;       /* at least USAGE_INODE_BYTES for each inode */
	int64_t inode_bytes; /* USAGE_INODE_BYTES for each inode */
	bool whole;          /* false: something was not seen */
	int64_t entries;     /* left of the budget */
	int64_t until;       /* of clock_ms() */
};

/* Adds what lies below a directory, however deep. */
void disk_usage_tree(const char *path, struct disk_usage *u);

/*
 * Adds files that a cell's processes hold open and that have no name any more:
 * a walk cannot find those.  One that is only mapped, or on its way from one
 * process to another, has no size that could be read: then not everything was
 * seen.  `device` is the storage's, `root` that of a root which the cell may write,
 * or the same.
 */
void disk_usage_unlinked(pid_t cell, dev_t device, dev_t root,
    struct disk_usage *u);

/*
 * Whether this process may read all of its sandbox.  init does without; where
 * the capabilities are missing, some things are not seen.
 */
void disk_usage_read_all(bool on);

/* [{"session", "bytes", "files", "limitMb", "whole"}] of all cells. */
json_t *disk_usage_cells(const struct cells *t);

#endif
