/*
 * starts.h: runs the process that continues starts without a client.
 *
 * A worker leaves a start at its client's deadline, and may die during a start.
 * A setup takes minutes, and no worker waits for it.  An execution whose attempt
 * was lost gets another one later.  The process is a child of the master, not a
 * part of the reaper: a sandbox belongs into the service's cgroup and must
 * outlive the process that starts it.
 */
#ifndef SANDLEASE_API_SERVE_STARTS_H
#define SANDLEASE_API_SERVE_STARTS_H

#include "common/conf.h"

/* Runs until SIGTERM; returns the exit status. */
int starts_run(const struct conf *conf);

#endif
