/*
 * network_control.h: asks sandlease-egress to serve the network of a session.
 *
 * sandlease-egress listens on <run_dir>/egress.sock.  It reads policies and
 * secrets from the rows; this only tells it which session and generation has a
 * cell whose network it shall open.  Nothing can leave a cell without it.
 */
#ifndef SANDLEASE_CONTROL_NETWORK_CONTROL_H
#define SANDLEASE_CONTROL_NETWORK_CONTROL_H

#include "control/control.h"

/*
 * Waits until sandlease-egress accepts connections.  ERR_UNAVAILABLE
 * "egress_unavailable" at the deadline.
 */
int network_ready(struct control *ctl, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

/*
 * Has the cell of s->id and s->generation served, and waits until it is.
 * Idempotent.  While nothing listens it tries again until the deadline; then it
 * is ERR_UNAVAILABLE "egress_unavailable".
 */
int network_follow(struct control *ctl, const struct session_row *s,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/*
 * The same after a change of the session's policy or secrets, if its cell may
 * exist on this host.  It is no error that nothing listens: no connection is
 * open then, and sandlease-egress reads the rows when it starts.
 */
int network_change(struct control *ctl, const char *session, struct err *e)
    MUST_CHECK;

/*
 * Names the field of a body that the database refused: the preset is unknown,
 * or the class has no network.  Always -1.
 */
int network_refused(struct err *e);

#endif
