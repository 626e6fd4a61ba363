/*
 * sandbox_name.h: the header X-Sandbox-Name, by which SDKs name a sandbox.
 */
#ifndef SANDLEASE_API_GATE_SANDBOX_NAME_H
#define SANDLEASE_API_GATE_SANDBOX_NAME_H

#include "api/app.h"

/* 400 that names `field` if a session cannot be called so. */
int sandbox_name_check(const char *field, const char *name, struct err *e)
    MUST_CHECK;

/*
 * Gives the session of a data-plane call the name in the call's header, if it has
 * none yet; `r` is what auth_session found.  A session that has one keeps it,
 * a name that another session has is not given, and a key that may only read
 * names nothing.  CODE_NONE, or why the call must be refused.
 */
enum err_code sandbox_name_give(struct call *c, const struct rows *r);

#endif
