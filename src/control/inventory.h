/*
 * inventory.h: lists what this host has, so that the reaper can compare it with
 * the rows.
 *
 * A list is a JSON array in the form that sql/statements/reconcile.sql reads.
 * The caller owns it.  A list that could not be made is an error, never an
 * empty list.
 *
 * The functions also remove things that no row explains.  No row can hold the
 * intent for that, so there is only the effect; it is idempotent, and the next
 * pass repeats it.
 */
#ifndef SANDLEASE_CONTROL_INVENTORY_H
#define SANDLEASE_CONTROL_INVENTORY_H

#include "control/control.h"

/*
 * Sandboxes: [{id, incarnation, presence}].  `presence` is running, stopped
 * (its files are there), absent, or unknown, which is never taken as absent.
 */
int inventory_sandboxes(const struct control *ctl, json_t **out, struct err *e)
    MUST_CHECK;

/* Ends every process of a sandbox that no row wants; its files stay. */
int inventory_stop_sandbox(const struct control *ctl, const char *id,
    const char *incarnation, struct err *e) MUST_CHECK;

/* Ends a sandbox that no row knows, and moves its files into the trash. */
int inventory_destroy_sandbox(const struct control *ctl, const char *id,
    const char *incarnation, struct err *e) MUST_CHECK;

/*
 * Thaws what is frozen in a sandbox whose init is gone.  Frozen processes
 * cannot die; thawed ones do, and the next pass finds the sandbox stopped.
 */
int inventory_release_sandbox(const struct control *ctl, const char *id,
    struct err *e) MUST_CHECK;

/* The cells of all running sandboxes, as their inits report them. */
struct inventory_cells {
	/* [{sandbox, incarnation, session, instance, generation}] */
	json_t *cells;
	json_t *sandboxes; /* init answered: [{id, incarnation}] */
	struct inventory_silence {
		char sandbox[SANDBOX_ID_MAX];
		struct err why;
	} * silent; /* init did not answer */
	size_t silent_count;
};

#define auto_inventory_cells __attribute__((cleanup(inventory_cells_release)))
void inventory_cells_release(struct inventory_cells *c);

/* Asks all inits at once; `sandboxes` is the list of inventory_sandboxes(). */
void inventory_cells(const struct control *ctl, const json_t *sandboxes,
    struct inventory_cells *out);

/*
 * Control groups of cells: [{sandbox, session}].  Only an empty one is dropped.
 */
int inventory_groups(const struct control *ctl, json_t **out, struct err *e)
    MUST_CHECK;
int inventory_drop_group(const struct control *ctl, const char *sandbox,
    const char *session, bool *gone, struct err *e) MUST_CHECK;

/* Directories of sessions: [{sandbox, session}]. */
int inventory_storage(const struct control *ctl, json_t **out, struct err *e)
    MUST_CHECK;
int inventory_drop_storage(const struct control *ctl, const char *sandbox,
    const char *session, struct err *e) MUST_CHECK;

/* Sockets of wrappers, by file name: [{name, session, generation}]. */
int inventory_sockets(const struct control *ctl, json_t **out, struct err *e)
    MUST_CHECK;
void inventory_drop_socket(const struct control *ctl, const char *name);

/*
 * Snapshots that have files: [{owner, id}].  Dropping one that is being written
 * is ERR_BUSY.
 */
int inventory_snapshots(const struct control *ctl, json_t **out, struct err *e)
    MUST_CHECK;
int inventory_drop_snapshot(const struct control *ctl, const char *owner,
    const char *id, struct err *e) MUST_CHECK;

/* Unlinks what lies in the trash, until the deadline. */
int inventory_sweep_trash(const struct control *ctl, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
