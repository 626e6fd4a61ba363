/*
 * sandbox_name.h: names a session by the SDKs' header X-Sandbox-Name.
 */
#ifndef SANDLEASE_API_GATE_SANDBOX_NAME_H
#define SANDLEASE_API_GATE_SANDBOX_NAME_H

#include "api/app.h"

/* Checks a session's name; the error is a 400 that names `field`. */
int sandbox_name_check(const char *field, const char *name, struct err *e)
    MUST_CHECK;

/* Whether the call has a name for its session. */
bool sandbox_name_given(const struct call *c);

/*
 * Gives the session of a data-plane call the name in the call's header.  `r` is
 * the row that auth_session() has read.  Nothing changes if the session has a
 * name, if another session has this name, or if the key may only read.  Returns
 * CODE_NONE, or the reason to refuse the call.
 */
enum err_code sandbox_name_give(struct call *c, const struct rows *r);

#endif
