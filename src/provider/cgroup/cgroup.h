/*
 * cgroup.h: makes, limits, freezes and removes the cgroups of sandboxes and
 * cells, in v1 or v2, or does nothing where none is delegated to the service.
 *
 * <mount>/<root>/box/<sandbox> holds bwrap and init, .../s-<session> one cell,
 * and .../s-<session>/x-<run> one limited run in it.  v2 allows processes in
 * leaves only: there bwrap and init are in a leaf .../init, and a cell that has
 * had a run is in a leaf .../s-<session>/main.
 *
 * The sandbox has limits, and each cell has slightly lower ones: a cell that
 * asks for too much meets its own limit first and dies alone.  The processor is
 * limited for the sandbox as a whole, and its cells have equal shares of that,
 * however many processes each has.  Only the host makes groups.  A cell joins
 * its group through a descriptor, which it closes before tenant code runs.
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

extern const char *const CGROUP_CONTROLLER_NAMES[]; /* the kernel's names */

struct cgroup_hierarchy {
	unsigned controllers;        /* bits of enum cgroup_controller */
	char dir[PROVIDER_PATH_MAX]; /* the delegated group */
};

struct cgroup_tree {
	const struct cgroup_ops *ops; /* never NULL after cgroup_find() */
	size_t count;                 /* 0: no group is delegated to us */
	struct cgroup_hierarchy at[CGROUP__MAX];
};

/* One control file: gets `number[controller]` and a suffix, or a fixed text. */
struct cgroup_row {
	enum cgroup_controller controller;
	const char *file;
	const char *suffix;
	const char *always; /* the fixed text, or NULL */
	int64_t part;       /* the number is divided by it; 0: not divided */
	bool optional;      /* not every kernel has the file */
};

/* In the kernel's units; 0: no limit. */
struct cgroup_limits {
	int64_t number[CGROUP__MAX];
};

/* A control file that becomes a meter of a run. */
struct cgroup_meter {
	enum cgroup_controller controller;
	const char *file, *what, *key;
	int64_t part;
	bool written; /* opened for writing */
};

enum cgroup_gauge_what {
	CGROUP_GAUGE_MEMORY,
	CGROUP_GAUGE_MEMORY_IDLE, /* file cache that is given up first */
	CGROUP_GAUGE_MEMORY_PEAK,
	CGROUP_GAUGE_CPU_USER_US,
	CGROUP_GAUGE_CPU_SYS_US,
	CGROUP_GAUGE_THREADS,
	CGROUP_GAUGE__MAX
};

/* A control file that tells what a group and those below it use. */
struct cgroup_gauge {
	enum cgroup_controller controller;
	const char *file;
	enum cgroup_gauge_what what;
	const char *key; /* the number after it; "": the file's only number */
	int64_t part;    /* the number is divided by it */
};

/* The differences between v1 and v2.  `dir` is the path of a group. */
struct cgroup_ops {
	const char *name;
	const struct cgroup_row *rows;
	size_t row_count;
	const struct cgroup_meter *meters; /* not every kernel has each file */
	size_t meter_count;
	const struct cgroup_gauge *gauges; /* not every kernel has each file */
	size_t gauge_count;
	/* A process with one thread writes "0" to it to join a group. */
	const char *join;
	/* Where bwrap and init are, below the sandbox's group; "" in v1. */
	const char *leaf;
	/* Called before children of `dir` get limits. */
	int (*prepare)(const char *dir, unsigned controllers, struct err *e);
	/* Called before a cell `dir` gets groups of runs; idempotent. */
	int (*split)(const char *dir, unsigned controllers, struct err *e);
	/* Freezes or thaws all of `dir`; does nothing if it has no freezer. */
	int (*freeze)(const char *dir, bool on, struct err *e);
	/* The file that freezes a group, and the values to write. */
	const char *freezer, *frozen, *thawed;
	/* The file with the kernel's answer, and the text that means frozen. */
	const char *state, *is_frozen;
	/* Kills all of `dir` at once; false: the caller kills one by one. */
	bool (*kill)(const char *dir);
};

extern const struct cgroup_ops CGROUP_NONE;
extern const struct cgroup_ops CGROUP_V1;
extern const struct cgroup_ops CGROUP_V2;

/*
 * Finds the groups that the setting cgroup_root means, from the texts of
 * /proc/self/mountinfo and /proc/self/cgroup.  `auto` that finds none is
 * CGROUP_NONE; a named root that is not delegated is an error.
 */
int cgroup_find_in(const char *setting, const char *mountinfo,
    const char *own_groups, struct cgroup_tree *out, struct err *e) MUST_CHECK;
/*
 * The same with the texts of the calling process, which are read once: the
 * answer is kept until one of its groups is gone.
 */
int cgroup_find(const char *setting, struct cgroup_tree *out, struct err *e)
    MUST_CHECK;

/* Write and read the text of box/<name>/cgroup.  The caller frees the text. */
char *cgroup_text(const struct cgroup_tree *t);
int cgroup_parse(const char *text, size_t len, struct cgroup_tree *out,
    struct err *e) MUST_CHECK;

/* Whether a cgroup can enforce the limits of controller `c`. */
bool cgroup_holds(const struct cgroup_tree *t, enum cgroup_controller c);

/* The limits of the sandbox's class, for the sandbox and for one cell. */
struct cgroup_limits cgroup_box_limits(const struct sandbox_spec *s);
struct cgroup_limits cgroup_cell_limits(const struct sandbox_spec *s);

/*
 * Makes the group above all sandboxes and limits it, so that all sandboxes
 * together leave enough memory and processes to the host.  -1 where the service
 * may not limit that group.
 */
int cgroup_limit_all(const struct cgroup_tree *t, struct err *e) MUST_CHECK;
struct cgroup_limits cgroup_all_limits(int64_t memory_bytes, int64_t pids);

/* Makes the sandbox's groups with their limits; idempotent. */
int cgroup_make(const struct cgroup_tree *t, const char *name,
    const struct sandbox_spec *s, struct err *e) MUST_CHECK;
/* Moves the calling process into the group of bwrap and init. */
int cgroup_enter(const struct cgroup_tree *t, const char *name, struct err *e)
    MUST_CHECK;

/*
 * Makes a cell's groups with their limits and opens the files by which the cell
 * joins them.
 */
int cgroup_cell_open(const struct cgroup_tree *t, const char *name,
    const char *session, const struct sandbox_spec *s,
    int fds[PROVIDER_CELL_FDS_MAX], size_t *count, struct err *e) MUST_CHECK;

/*
 * Makes the groups of a run below its cell's, with their limits, and opens the
 * files by which it joins and is measured.  "lease_changed": the cell is gone.
 */
int cgroup_run_open(const struct cgroup_tree *t, const char *name,
    const struct run_spec *r, struct run_group *out, struct err *e) MUST_CHECK;
int cgroup_run_remove(const struct cgroup_tree *t, const char *name,
    const struct run_spec *r, int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * cgroup_cell_freezer() opens the file that freezes a cell; "cannot_suspend"
 * where there is none.  cgroup_cell_frozen() asks the kernel whether all
 * processes of the cell are frozen.
 */
int cgroup_cell_freezer(const struct cgroup_tree *t, const char *name,
    const char *session, struct err *e) MUST_CHECK;
int cgroup_cell_frozen(const struct cgroup_tree *t, const char *name,
    const char *session, bool *out, struct err *e) MUST_CHECK;
/* Thaws every cell of a sandbox, so that its processes can die. */
int cgroup_thaw_cells(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;

/*
 * Counts the processes of the sandbox or, if `session` is not NULL, of one
 * cell.  0 where no group is delegated.
 */
int cgroup_count(const struct cgroup_tree *t, const char *name,
    const char *session, size_t *count, struct err *e) MUST_CHECK;

/*
 * The same, with their threads and their processor time, that of children they
 * have waited for included.  A child that nobody waits for takes its time along.
 */
struct cgroup_procs {
	size_t count;
	int64_t threads, user_us, sys_us;
};
int cgroup_procs(const struct cgroup_tree *t, const char *name,
    const char *session, struct cgroup_procs *out, struct err *e) MUST_CHECK;

/*
 * Measures the processes of the sandbox or, if `session` is not NULL, of one
 * cell.
 */
int cgroup_usage(const struct cgroup_tree *t, const char *name,
    const char *session, struct usage *out, struct err *e) MUST_CHECK;

/*
 * Freezes one cell, or thaws it; *done is false where there is no freezer, and
 * then nothing has happened.  Thawing a cell that is gone is success.
 */
int cgroup_cell_freeze(const struct cgroup_tree *t, const char *name,
    const char *session, bool on, bool *done, struct err *e) MUST_CHECK;

/* Sends SIGKILL once to every process of the sandbox. */
int cgroup_kill(const struct cgroup_tree *t, const char *name, struct err *e)
    MUST_CHECK;

/* Removes the empty groups of a sandbox, or (session not NULL) of one cell. */
int cgroup_remove(const struct cgroup_tree *t, const char *name,
    const char *session, int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Lists the names of all sandboxes that have a group; NULL at the end. */
int cgroup_names(const struct cgroup_tree *t, char ***out, struct err *e)
    MUST_CHECK;

/* Whether we make groups of that name; other names are control files. */
bool cgroup_is_ours(const char *name);

/*
 * Lists the names in a sandbox's group, NULL at the end.  Cells are those that
 * begin with CGROUP_CELL_PREFIX; the others are control files.
 */
#define CGROUP_CELL_PREFIX "s-"
#define CGROUP_CELL_MAIN "main"
#define CGROUP_RUN_PREFIX "x-"
int cgroup_cells(const struct cgroup_tree *t, const char *name, char ***out,
    struct err *e) MUST_CHECK;

/*
 * <mount>/<root>/job/<name> limits the memory and processes of one job
 * (store/job.h).  The caller of these functions holds the job's slot.
 */
enum { CGROUP_JOB_BYTES = 128 * 1024 * 1024 };
int cgroup_job_make(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;
/* Moves the calling process into the job's group. */
int cgroup_job_enter(const struct cgroup_tree *t, const char *name,
    struct err *e) MUST_CHECK;
void cgroup_job_remove(const struct cgroup_tree *t, const char *name);
/* Lists the names of jobs' groups, and control files; NULL at the end. */
int cgroup_job_names(const struct cgroup_tree *t, char ***out, struct err *e)
    MUST_CHECK;

/* Removes one empty group; success if there is none. */
int cgroup_dir_remove(const char *path, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * For a call that found the group `dir` missing, by errno `why`: sets *e to
 * "lease_changed" if the group was removed, because the session was stopped.
 */
int cgroup_explain_missing(const char *dir, int why, struct err *e);

/* Makes the group `dir` in one hierarchy and sets its limits. */
int cgroup_group_make(const struct cgroup_tree *t,
    const struct cgroup_hierarchy *h, const char *dir,
    const struct cgroup_limits *l, struct err *e) MUST_CHECK;

/*
 * With the setting `auto`, moves the calling process into a leaf `api` of its
 * own group, because v2 allows processes in leaves only and systemd 252 has no
 * DelegateSubgroup.  The master calls it once, before it starts workers.
 */
int cgroup_enter_leaf(const char *setting, struct err *e) MUST_CHECK;
int cgroup_enter_leaf_in(const char *mountinfo, const char *own_groups,
    int64_t pid, struct err *e) MUST_CHECK;

#endif
