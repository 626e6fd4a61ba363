/*
 * choose.h: finds a provider by its name and opens it for this host.
 *
 * No other sub-room knows which providers there are.
 */
#ifndef SANDLEASE_PROVIDER_CHOOSE_CHOOSE_H
#define SANDLEASE_PROVIDER_CHOOSE_CHOOSE_H

#include "common/conf.h"
#include "common/err.h"
#include "provider/provider.h"

/*
 * Fills in *p with the provider of that name and has it set up its directories
 * and cgroups.  If that fails, or no provider has the name, e->msg is one clear
 * sentence.
 */
int provider_open(const char *name, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e) MUST_CHECK;
/* The same with the operations `ops`: tests have a provider of their own. */
int provider_open_ops(const struct provider_ops *ops, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e) MUST_CHECK;

/*
 * Starts a trial sandbox to see whether user namespaces are allowed.  For the
 * command `doctor`; workers do not call it.
 */
int provider_check(const struct provider *p, struct err *e) MUST_CHECK;

/*
 * Moves this process into a leaf of its cgroup, if the host has delegated one
 * to the service, so that sandboxes can have groups beside it.  The master
 * calls it once, before it forks.
 */
int provider_prepare(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
