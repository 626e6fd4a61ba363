/*
 * load.h: asks init what the processes of a sandbox use, where no cgroup tells
 * the host.
 */
#ifndef SANDLEASE_PROVIDER_LINK_LOAD_H
#define SANDLEASE_PROVIDER_LINK_LOAD_H

#include "common/err.h"
#include "domain/agent.h"
#include "domain/usage.h"
#include "provider/provider.h"

/*
 * Measures the cell of t->session or, if that is "", the whole sandbox.  An
 * agent that is too old to tell leaves every number unknown.
 */
int agent_load(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e) MUST_CHECK;

#endif
