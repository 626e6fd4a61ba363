/*
 * adopt.h: gives a wrapper of the warm pool to the session that claimed it.
 */
#ifndef SANDLEASE_AGENT_WRAPPER_ADOPT_H
#define SANDLEASE_AGENT_WRAPPER_ADOPT_H

#include "common/err.h"
#include "common/json.h"

/*
 * Takes on what a launch of the session would have brought: environment, name,
 * network, author of commits.  The first claim is the only one that counts:
 * another one is ERR_CONFLICT "already_adopted", the same one again succeeds.
 */
int adopt(const json_t *msg, struct err *e) MUST_CHECK;

#endif
