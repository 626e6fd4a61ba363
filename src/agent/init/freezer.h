/*
 * freezer.h: a cell that stands still.
 *
 * The host opens the file that freezes the cell's group and hands it over;
 * init writes, because it sees every order for the cell one after the other
 * and refuses one that comes too late.  A frozen process does not die of a
 * signal before it is let go, so whoever ends a cell lets it go as well.
 */
#ifndef SANDLEASE_AGENT_INIT_FREEZER_H
#define SANDLEASE_AGENT_INIT_FREEZER_H

#include "agent/init/cells.h"
#include "common/channel.h"

/*
 * {"order", "frozen", "thawed"} and a descriptor / {"order"}.  An order below
 * the last one is "stale_order".
 */
int freezer_hold(struct cell *c, const json_t *msg, struct channel_fds *fds,
    struct err *e) MUST_CHECK;
int freezer_thaw(struct cell *c, const json_t *msg, struct err *e) MUST_CHECK;

/* Lets it go without an order: it is to end. */
void freezer_release(struct cell *c);

#endif
