/*
 * audit.h: refusals that the operator should hear of.
 *
 * Noted while a call is served, written once its answer has gone out: nobody
 * waits for it, nobody can tell from the time it took, and one that cannot be
 * written changes nothing.  One note per call.  No key and no token: a hash.
 */
#ifndef SANDLEASE_API_GATE_AUDIT_H
#define SANDLEASE_API_GATE_AUDIT_H

#include "api/app.h"
#include "api/gate/access.h"

/* A key, cookie or ticket that does not count; what is not given was no key. */
void audit_key(struct call *c, const struct credential *k);

/*
 * A session that was not found; told if it is somebody else's.  The key is the
 * call's (app->who) unless a credential is given.
 */
void audit_session(struct call *c, const char *session,
    const struct credential *k);

/* A preview URL that opens nothing, by the hash of its token. */
void audit_preview(struct call *c, const char *session, const char *port,
    const char *hash);

/* A port that may not be exposed. */
void audit_port(struct call *c, const char *session, int64_t port);

/* Writes what was noted; called when the answer is out. */
void audit_flush(struct app *app);

#endif
