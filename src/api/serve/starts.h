/*
 * starts.h: the process that goes on with starts nobody waits for.
 *
 * A worker leaves a start at its client's deadline, and may die in one; a setup
 * takes minutes, and no worker waits for it.  A sandbox belongs into the service's
 * cgroup and must outlive the process that starts it, so this is a child of the
 * master, not a part of the reaper.
 */
#ifndef SANDLEASE_API_SERVE_STARTS_H
#define SANDLEASE_API_SERVE_STARTS_H

#include "common/conf.h"

/* Until SIGTERM; returns the exit status. */
int starts_run(const struct conf *conf);

#endif
