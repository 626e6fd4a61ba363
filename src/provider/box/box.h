/*
 * box.h: reads, writes and locks the host's record of one sandbox.
 *
 * <state_dir>/box/<name>/ holds
 *   label        the installation that owns the sandbox, and its raw id
 *   incarnation  the incarnation on record (record.h)
 *   proc         boot id, bwrap's and init's pid with start time
 *   cgroup       the groups in which the sandbox was started; a process in
 *                another cgroup, such as cron's, would find others
 *   lock         held by bwrap and init for as long as they live
 *   agent.log    init's stderr
 * and <state_dir>/box/.gone an index of tombstones (gone.h).
 * A worker or the reaper locks the directory itself while it starts, stops or
 * destroys the sandbox.  <state_dir>/box has mode 0700, and no sandbox sees it.
 * The files of sessions are elsewhere, in the storage.
 */
#ifndef SANDLEASE_PROVIDER_BOX_BOX_H
#define SANDLEASE_PROVIDER_BOX_BOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/box/record.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/proc.h"
#include "provider/provider.h"

enum { BOX_NAME_MAX = 64, BOX_TOMBSTONE_SECONDS = 3600 };

struct box {
	char name[BOX_NAME_MAX];
	int dir; /* -1: the directory does not exist */
};

/* The processes of a sandbox, and the boot in which they were started. */
struct box_proc {
	char boot_id[BOOT_ID_MAX];
	struct proc bwrap;
	struct proc init;
};

#define auto_box __attribute__((cleanup(box_close)))
#define BOX_CLOSED                                                             \
	{                                                                      \
		.dir = -1                                                      \
	}

/*
 * The name that a sandbox's directories and groups have: its id, or a hash of
 * it if the id is a legacy one.
 */
void box_name(const char *id, char out[BOX_NAME_MAX]);
bool box_is_name(const char *s);

/* Opens the sandbox's box; b->dir is -1 if it has none. */
int box_open(const struct provider *p, const char *id, struct box *b,
    struct err *e) MUST_CHECK;
/* Opens the sandbox's box; makes the directory and its label if need be. */
int box_make(const struct provider *p, const char *id, struct box *b,
    struct err *e) MUST_CHECK;
void box_close(struct box *b);

/*
 * Reads the label.  *ours is false if the box belongs to another installation;
 * `id` is the sandbox's raw id, "" while the label is not written yet.
 */
int box_label(const struct provider *p, const struct box *b, bool *ours,
    char id[SANDBOX_ID_MAX], struct err *e) MUST_CHECK;

/*
 * Calls box_make() and locks the directory for a start, stop or destroy;
 * box_close() unlocks it.  ERR_BUSY when the deadline is over.
 */
int box_lock(const struct provider *p, const char *id, int64_t deadline_ms,
    struct box *b, struct err *e) MUST_CHECK;

/*
 * Takes the lock that bwrap and init inherit and hold while they live.  Returns
 * its descriptor.
 */
int box_hold(const struct box *b, int64_t deadline_ms, struct err *e)
    MUST_CHECK;
/* Whether a process holds that lock. */
int box_held(const struct box *b, bool *held, struct err *e) MUST_CHECK;

/* *out is RECORD_NONE when nothing is on record. */
int box_record(const struct box *b, struct record *out, struct err *e)
    MUST_CHECK;
int box_set_record(const struct box *b, const struct record *r, struct err *e)
    MUST_CHECK;

/* *out is all 0 when nothing is on record. */
int box_proc(const struct box *b, struct box_proc *out, struct err *e)
    MUST_CHECK;
int box_set_proc(const struct box *b, const struct box_proc *pr, struct err *e)
    MUST_CHECK;

/*
 * The groups in which the sandbox was started; if none are on record, those of
 * the setting cgroup_root.
 */
int box_cgroups(const struct provider *p, const struct box *b,
    struct cgroup_tree *out, struct err *e) MUST_CHECK;
int box_set_cgroups(const struct box *b, const struct cgroup_tree *t,
    struct err *e) MUST_CHECK;

/*
 * Opens agent.log for appending and returns the descriptor.  A log that is too
 * large is renamed to agent.log.1 first.
 */
int box_log(const struct provider *p, const struct box *b, struct err *e)
    MUST_CHECK;
/* Appends the log from offset `from`, at most its last `max` bytes, to *out. */
int box_log_tail(const struct box *b, int64_t from, size_t max, struct buf *out,
    struct err *e) MUST_CHECK;

/* Removes all files but the label, the record and the lock. */
void box_forget(const struct box *b);
/* Removes a box whose tombstone is older than BOX_TOMBSTONE_SECONDS. */
int box_bury(const struct provider *p, const char *name, struct err *e)
    MUST_CHECK;

#endif
