/*
 * freezer.h: freezes and thaws a cell by its cgroup.
 *
 * The host opens the file that freezes the cell's cgroup and sends the
 * descriptor.  init writes to it, because init sees all orders for the cell one
 * after the other and can refuse one that comes too late.  A frozen process does
 * not die of a signal before it is thawed, so the code that ends a cell calls
 * freezer_release() too.
 */
#ifndef SANDLEASE_AGENT_INIT_FREEZER_H
#define SANDLEASE_AGENT_INIT_FREEZER_H

#include "agent/init/cells.h"
#include "common/channel.h"

/*
 * Carry out the ops freeze, a message {"order", "frozen", "thawed"} with a
 * descriptor, and thaw, {"order"}.  An order lower than the cell's last one is
 * "stale_order".
 */
int freezer_freeze(struct cell *c, const json_t *msg, struct channel_fds *fds,
    struct err *e) MUST_CHECK;
int freezer_thaw(struct cell *c, const json_t *msg, struct err *e) MUST_CHECK;

/* Thaws a cell that is about to be ended; needs no order. */
void freezer_release(struct cell *c);

#endif
