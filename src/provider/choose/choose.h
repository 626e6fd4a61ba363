/*
 * choose.h: finds a provider by its name and opens it for this host.
 *
 * Of all the sub-rooms only this one knows which providers there are.
 */
#ifndef SANDLEASE_PROVIDER_CHOOSE_CHOOSE_H
#define SANDLEASE_PROVIDER_CHOOSE_CHOOSE_H

#include "common/conf.h"
#include "common/err.h"
#include "provider/provider.h"

/*
 * Fills in *p with the provider of that name and checks that this host can serve as one: directories with
 * their modes, bwrap, the agent.  One clear sentence when not, or when no
 * provider has the name.
 */
int provider_open(const char *name, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e) MUST_CHECK;
/* The same with these operations: tests bring a provider that has no name here. */
int provider_open_ops(const struct provider_ops *ops, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e) MUST_CHECK;

/* Tries what only trying shows (user namespaces): `doctor`, not workers. */
int provider_check(const struct provider *p, struct err *e) MUST_CHECK;

/*
 * Makes room for sandboxes beside the service's own processes, where the host
 * has delegated a group to it.  Once, by the master, before it forks.
 */
int provider_prepare(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
