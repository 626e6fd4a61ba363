/*
 * disk_usage.h: measures how much of the disk each session uses.
 *
 * A child of init counts, inside the sandbox but outside every cell.  The host
 * must not walk a tenant's tree, and a wrapper runs beside the tenant's code,
 * which could make it lie.  Capabilities of the sandbox's own user namespace let
 * the child read directories and processes that the tenant has closed to others.
 * It opens only directories, and follows no symlink.  The walk has a budget, and
 * the result says whether everything was counted (`whole`).
 */
#ifndef SANDLEASE_AGENT_INIT_DISK_USAGE_H
#define SANDLEASE_AGENT_INIT_DISK_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/init/cells.h"

/*
 * Each inode counts at least this many bytes, even an empty file, because a disk
 * can run out of inodes too.  It has so many of them that the size of a block is
 * a fair price.
 */
enum { USAGE_INODE_BYTES = 4096 };

struct disk_usage {
	int64_t bytes;       /* at least USAGE_INODE_BYTES for each inode */
	int64_t inode_bytes; /* USAGE_INODE_BYTES for each inode */
	bool whole;          /* false: something could not be counted */
	int64_t entries;     /* the budget: how many more may be read */
	int64_t until;       /* the budget: ends at this clock_ms() */
};

/* Adds all files below a directory, however deep. */
void disk_usage_tree(const char *path, struct disk_usage *u);

/*
 * Adds unlinked files that a cell's processes have open: a walk cannot find
 * them.  The size of an unlinked file cannot be read if it is only mapped, or
 * in a message between two processes; then `whole` becomes false.  `device` is
 * the storage's; `root` is that of a root which the cell may write, else the
 * same.
 */
void disk_usage_unlinked(pid_t cell, dev_t device, dev_t root,
    struct disk_usage *u);

/*
 * Turns on or off the capabilities to read everything in the sandbox.  init has
 * them off.  Where the kernel did not give them, some files are not counted.
 */
void disk_usage_read_all(bool on);

/*
 * [{"session", "generation", "bytes", "files", "limitMb", "whole"}] of all
 * cells that are not frozen.
 */
json_t *disk_usage_cells(const struct cells *t);

#endif
