/*
 * relay_control.h: relays of ports follow their rows.
 *
 * The row of a port is the intent; until the relay in the session's wrapper has
 * confirmed it, the row is pending.  Closed ports (`closing`) are refused to
 * visitors all the same.  What is pending is finished by whoever changes the
 * port, makes the session ready or finds the relay dead, and by the reaper.
 * Changes are numbered, and a relay refuses one that is older than the last it
 * has carried out: a worker that was paused undoes nothing.
 */
#ifndef SANDLEASE_CONTROL_RELAY_CONTROL_H
#define SANDLEASE_CONTROL_RELAY_CONTROL_H

#include "control/control.h"

/*
 * Act and outcome of a port whose intent has been written.  *left: it is not
 * true yet and stays pending, because its wrapper takes no messages now or runs
 * on another host.  A relay that fails is -1, and pending, too.
 */
int relay_settle_port(struct control *ctl, const char *id, int64_t port,
    bool *left, struct err *e) MUST_CHECK;

/* Nobody answers where the relay should: makes it again, as the row says. */
int relay_repair(struct control *ctl, const char *id, int64_t port,
    struct err *e) MUST_CHECK;

/*
 * The relays of a session that has just become ready.  `anyway`: whatever they
 * are, they are made again; else only what is pending or cannot be found.
 */
void relay_settle_session(struct control *ctl, const char *id, bool anyway);

/* Finishes what a row of port_relays() asks for; a failure is noted there. */
int relay_settle_row(struct control *ctl, const struct rows *r, size_t i,
    struct err *e) MUST_CHECK;

/* Closes what is open on a port of this host (a key revoked).  Best effort. */
void relay_cut(struct control *ctl, const struct rows *r, size_t i);

#endif
