/*
 * network_trust.h: makes a session with secrets trust the certificates that
 * sandlease-egress shows to it.
 */
#ifndef SANDLEASE_CONTROL_NETWORK_TRUST_H
#define SANDLEASE_CONTROL_NETWORK_TRUST_H

#include "control/control.h"

/* Has the wrapper write the certificates, if the session has secrets. */
int network_trust(struct control *ctl, const struct agent_target *t,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

#endif
