/*
 * webhooks.h: runs the process that sends webhooks.
 *
 * It is a process of its own, a child of the master: neither a worker nor the
 * process that goes on with starts ever waits for a tenant's server.
 */
#ifndef SANDLEASE_API_SERVE_WEBHOOKS_H
#define SANDLEASE_API_SERVE_WEBHOOKS_H

#include "common/conf.h"

/* Runs until SIGTERM; returns the exit status. */
int webhooks_run(const struct conf *conf);

#endif
