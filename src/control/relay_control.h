/*
 * relay_control.h: makes the relays of ports follow their rows.
 *
 * The row of a port is the intent.  It is pending until the relay in the
 * session's wrapper has confirmed it.  A port that is `closing` refuses
 * visitors all the same.  A pending row is finished by the worker that changes
 * the port, makes the session ready or finds the relay dead, and by the reaper.
 * Changes are numbered, and a relay refuses one that is older than the last it
 * has carried out, so a worker that was paused undoes nothing.
 */
#ifndef SANDLEASE_CONTROL_RELAY_CONTROL_H
#define SANDLEASE_CONTROL_RELAY_CONTROL_H

#include "control/control.h"

/*
 * Act and outcome of a port whose intent has been written.  *left: the row
 * stays pending, because its wrapper takes no messages now or runs on another
 * host.  A relay that fails is -1, and its row stays pending, too.
 */
int relay_settle_port(struct control *ctl, const char *id, int64_t port,
    bool *left, struct err *e) MUST_CHECK;

/* Makes a relay again, as its row says, if it does not answer. */
int relay_repair(struct control *ctl, const char *id, int64_t port,
    struct err *e) MUST_CHECK;

/*
 * Settles the relays of a session that has just become ready.  `anyway`: all
 * are made again; else only those that are pending or cannot be found.
 */
void relay_settle_session(struct control *ctl, const char *id, bool anyway);

/* Settles a row of port_relays(); a failure is noted in the row. */
int relay_settle_row(struct control *ctl, const struct rows *r, size_t i,
    struct err *e) MUST_CHECK;

/*
 * Closes the connections of a port on this host, because a key was revoked.
 * Best effort.
 */
void relay_cut(struct control *ctl, const struct rows *r, size_t i);

#endif
