/*
 * audit.h: writes refused calls to the audit log.
 *
 * A refusal is noted while the call is served, and written after its answer was
 * sent.  So the client does not wait for the write, cannot notice it by the
 * time the answer takes, and gets the same answer if the write fails.  A call
 * has at most one note.  A note holds the hash of a key or token, never the key
 * itself.
 */
#ifndef SANDLEASE_API_GATE_AUDIT_H
#define SANDLEASE_API_GATE_AUDIT_H

#include "api/app.h"
#include "api/gate/access.h"

/* An invalid key, cookie or ticket; k->given is false for a malformed one. */
void audit_key(struct call *c, const struct credential *k);

/*
 * A session that was not found; written only if another tenant has it.  The key
 * is the call's (app->who) unless a credential `k` is given.
 */
void audit_session(struct call *c, const char *session,
    const struct credential *k);

/* A preview URL that is not valid; `hash` is that of its token. */
void audit_preview(struct call *c, const char *session, const char *port,
    const char *hash);

/* An attempt to expose a port that may not be exposed. */
void audit_port(struct call *c, const char *session, int64_t port);

/* Writes the note; the worker calls it after the answer was sent. */
void audit_flush(struct app *app);

#endif
