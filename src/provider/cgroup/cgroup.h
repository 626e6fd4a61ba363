/*
 * cgroup.h: the groups of a sandbox and its cells, v1 or v2 or none.
 *
 * <mount>/<root>/box/<sandbox> holds bwrap and init (in v2 a leaf below it,
 * .../init, because there processes live in leaves only), .../s-<session> one
 * cell.  Limits stand on the
 * sandbox and, a little lower, on each cell, so that a cell that asks for too
 * much meets its own limit first and dies alone.  The processor is limited for the
 * sandbox as a whole, within which its cells have equal shares: each is a group of
 * its own there, however many processes it has.  Groups are made by the host
 * only; a cell joins through a descriptor that it closes before tenant code.
 */
#ifndef SANDLEASE_PROVIDER_CGROUP_CGROUP_H
#define SANDLEASE_PROVIDER_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"
#include "provider/provider.h"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_FREEZER,
	CGROUP_CPU,
	CGROUP__MAX
};

extern const char *const CGROUP_CONTROLLER_NAMES[]; /* as the kernel's */

struct cgroup_hierarchy {
	unsigned controllers;        /* bits of enum cgroup_controller */
	char dir[PROVIDER_PATH_MAX]; /* the delegated group */
};

struct cgroup_tree {
	const struct cgroup_ops *ops; /* never NULL once found */
	size_t count;                 /* 0: nothing is delegated */
	struct cgroup_hierarchy at[CGROUP__MAX];
};

/* One limit: `number[controller]` and a suffix, or always the same text. */
struct cgroup_row {
	enum cgroup_controller controller;
	const char *file;
	const char *suffix;
	const char *always;
	int64_t part;  /* 1 / part of the number; 0: all of it */
	bool optional; /* not every kernel has the file */
};

/* In the unit the kernel takes; 0: no limit. */
struct cgroup_limits {
	int64_t number[CGROUP__MAX];
};

/* What differs between v1 and v2.  `dir` is the path of a group. */
struct cgroup_ops {
	const char *name;
	const struct cgroup_row *rows;
	size_t row_count;
	/* The file by which a process with one thread joins a group: "0". */
	const char *join;
	/* Where init is, below the sandbox's group: processes only in leaves. */
	const char *leaf;
	/* Before children of `dir` are limited. */
	int (*prepare)(const char *dir, unsigned controllers, struct err *e);
	/* Stops (or lets go) everything below; success where it cannot. */
	int (*freeze)(const char *dir, bool on, struct err *e);
	/* The file that freezes a group and its words; where the kernel says so. */
	const char *freezer, *frozen, *thawed;
	const char *state, *is_frozen;
	/* Kills everything below at once; false: one by one, then. */
	bool (*kill)(const char *dir);
};

extern const struct cgroup_ops CGROUP_NONE;
extern const struct cgroup_ops CGROUP_V1;
extern const struct cgroup_ops CGROUP_V2;

/*
 * Finds what the setting means from the texts of /proc/self/mountinfo and
 * /proc/self/cgroup.  `auto` that leads nowhere is CGROUP_NONE; a named root
 * that is not delegated is an error.
 */
int cgroup_find_in(const char *setting, const char *mountinfo,
    const char *own_groups, struct cgroup_tree *out, struct err *e) MUST_CHECK;
/* The same with this process's own. */
int cgroup_find(const char *setting, struct cgroup_tree *out, struct err *e)
    MUST_CHECK;

/* For box/<name>/cgroup. */
char *cgroup_text(const struct cgroup_tree *t);
int cgroup_parse(const char *text, size_t len, struct cgroup_tree *out,
    struct err *e) MUST_CHECK;

/* Whether the kernel holds this limit for us. */
bool cgroup_holds(const struct cgroup_tree *t, enum cgroup_controller c);

/* What the class asks for, on the sandbox and on one cell. */
struct cgroup_limits cgroup_box_limits(const struct sandbox_spec *s);
struct cgroup_limits cgroup_cell_limits(const struct sandbox_spec *s);

/*
 * Makes the group above all sandboxes and limits it, so that together they leave
 * the host memory and processes to live with.  -1 where it is not ours to limit.
 */
int cgroup_limit_all(const struct cgroup_tree *t, struct err *e) MUST_CHECK;
struct cgroup_limits cgroup_all_limits(int64_t memory_bytes, int64_t pids);

/* Makes the sandbox's groups with their limits; harmless when repeated. */
int cgroup_make(const struct cgroup_tree *t, const char *name,
    const struct sandbox_spec *s, struct err *e) MUST_CHECK;
/* Moves the calling process into the group of bwrap and init. */
int cgroup_enter(const struct cgroup_tree *t, const char *name, struct err *e)
    MUST_CHECK;

/* Makes a cell's groups and opens the files to join them by. */
int cgroup_cell_open(const struct cgroup_tree *t, const char *name,
    const char *session, const struct sandbox_spec *s,
    int fds[PROVIDER_CELL_FDS_MAX], size_t *count, struct err *e) MUST_CHECK;

/*
 * Opens the file that freezes a cell; "cannot_suspend" where there is none.
 * Whether all of a cell stands still.
 */
int cgroup_cell_freezer(const struct cgroup_tree *t, const char *name,
    const char *session, struct err *e) MUST_CHECK;
int cgroup_cell_frozen(const struct cgroup_tree *t, const char *name,
    const char *session, bool *out, struct err *e) MUST_CHECK;
/* Thaws every cell of a sandbox, so that its processes can die. */
int cgroup_thaw_cells(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;

/* How many processes live below the sandbox, or in one cell of it. */
int cgroup_count(const struct cgroup_tree *t, const char *name,
    const char *session, size_t *count, struct err *e) MUST_CHECK;

/*
 * Stops one cell, or lets it go; *done is false where no group can (then
 * nothing has happened).  A cell that is gone needs no letting go.
 */
int cgroup_cell_freeze(const struct cgroup_tree *t, const char *name,
    const char *session, bool on, bool *done, struct err *e) MUST_CHECK;

/* One round of SIGKILL for everything below the sandbox. */
int cgroup_kill(const struct cgroup_tree *t, const char *name, struct err *e)
    MUST_CHECK;

/* Removes the empty groups of a sandbox, or (session not NULL) of one cell. */
int cgroup_remove(const struct cgroup_tree *t, const char *name,
    const char *session, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Names of all sandboxes that have a group; NULL at the end. */
int cgroup_names(const struct cgroup_tree *t, char ***out, struct err *e)
    MUST_CHECK;

/* Names of a sandbox's cells, each behind CGROUP_CELL_PREFIX; NULL at the end. */
#define CGROUP_CELL_PREFIX "s-"
int cgroup_cells(const struct cgroup_tree *t, const char *name, char ***out,
    struct err *e) MUST_CHECK;

/*
 * <mount>/<root>/job/<name> is for one job on the host (job.h), whose memory and
 * processes it limits.  Whoever makes, enters or removes one holds its slot.
 */
enum { CGROUP_JOB_BYTES = 128 * 1024 * 1024 };
int cgroup_job_make(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;
/* Moves the calling process there. */
int cgroup_job_enter(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;
void cgroup_job_remove(const struct cgroup_tree *t, const char *name);
/* All names, among files of the kernel's; NULL at the end. */
int cgroup_job_names(const struct cgroup_tree *t, char ***out, struct err *e)
    MUST_CHECK;

/* Makes the group `dir` of one hierarchy and limits it. */
int cgroup_group_make(const struct cgroup_tree *t,
    const struct cgroup_hierarchy *h, const char *dir,
    const struct cgroup_limits *l, struct err *e) MUST_CHECK;

/*
 * With `auto`, moves this process into a leaf `api` of its own group, because
 * v2 allows processes in leaves only and systemd 252 has no DelegateSubgroup.
 * Once, by the master, before it starts workers.
 */
int cgroup_enter_leaf(const char *setting, struct err *e) MUST_CHECK;
int cgroup_enter_leaf_in(const char *mountinfo, const char *own_groups,
    int64_t pid, struct err *e) MUST_CHECK;

#endif
