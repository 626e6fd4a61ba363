/*
 * listener.h: runs the process that hears of revocations.
 *
 * It listens for what the triggers of sql/functions/auth_ended.sql tell, and
 * writes it to the page that the workers of the pool `auth` read
 * (gate/revocations.h).  Every 20 ms it has the database prove that it would
 * still be told.
 */
#ifndef SANDLEASE_API_SERVE_LISTENER_H
#define SANDLEASE_API_SERVE_LISTENER_H

#include "api/gate/revocations.h"
#include "common/conf.h"

/* Runs until SIGTERM; returns the exit status. */
int listener_run(const struct conf *conf, struct revocations *r);

#endif
