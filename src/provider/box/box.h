/*
 * box.h: what this host keeps of one sandbox outside its storage.
 *
 * <state_dir>/box/<name>/ holds
 *   label        installation and raw id: whose it is
 *   incarnation  record.h
 *   proc         boot id, bwrap's and init's pid with start time
 *   cgroup       the groups it was started in, for whoever has others
 *   lock         held by bwrap and init for as long as they live
 *   agent.log    init's stderr
 * The directory itself is locked by whoever starts, stops or destroys it.
 * All of it lies in a directory of mode 0700 that no sandbox sees.
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
	int dir; /* -1: there is none */
};

/* Who runs it, on which boot. */
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

/* Sandbox ids as names of files and groups: legacy ids are hashed. */
void box_name(const char *id, char out[BOX_NAME_MAX]);
bool box_is_name(const char *s);

/* Opens what there is; b->dir stays -1 when there is nothing. */
int box_open(const struct provider *p, const char *id, struct box *b,
    struct err *e) MUST_CHECK;
/* Makes the directory and its label if need be, and opens it. */
int box_make(const struct provider *p, const char *id, struct box *b,
    struct err *e) MUST_CHECK;
void box_close(struct box *b);

/*
 * Whose it is.  *ours is false for another installation's; *id is the raw id
 * ("" while the label is not written yet).
 */
int box_label(const struct provider *p, const struct box *b, bool *ours,
    char id[SANDBOX_ID_MAX], struct err *e) MUST_CHECK;

/* box_make and the operation's lock.  ERR_BUSY when the deadline is over. */
int box_lock(const struct provider *p, const char *id, int64_t deadline_ms,
    struct box *b, struct err *e) MUST_CHECK;

/* Takes the lifetime lock for a sandbox to inherit.  The descriptor. */
int box_hold(const struct box *b, int64_t deadline_ms, struct err *e)
    MUST_CHECK;
/* Whether somebody has it. */
int box_held(const struct box *b, bool *held, struct err *e) MUST_CHECK;

int box_record(const struct box *b, struct record *out, struct err *e)
    MUST_CHECK;
int box_set_record(const struct box *b, const struct record *r, struct err *e)
    MUST_CHECK;

/* Nobody when nothing is on record. */
int box_proc(const struct box *b, struct box_proc *out, struct err *e)
    MUST_CHECK;
int box_set_proc(const struct box *b, const struct box_proc *pr, struct err *e)
    MUST_CHECK;

/* The groups it was started in; when none are on record, those of `conf`. */
int box_cgroups(const struct provider *p, const struct box *b,
    struct cgroup_tree *out, struct err *e) MUST_CHECK;
int box_set_cgroups(const struct box *b, const struct cgroup_tree *t,
    struct err *e) MUST_CHECK;

/* Opens agent.log for appending, a too large one set aside.  The descriptor. */
int box_log(const struct provider *p, const struct box *b, struct err *e)
    MUST_CHECK;
/* Appends the last `max` bytes of the log from `from` on to *out. */
int box_log_tail(const struct box *b, int64_t from, size_t max, struct buf *out,
    struct err *e) MUST_CHECK;

/* Removes all but label, record and locks. */
void box_forget(const struct box *b);
/* Removes a tombstone that nobody can need any more. */
int box_bury(const struct provider *p, const char *name, struct err *e)
    MUST_CHECK;

#endif
