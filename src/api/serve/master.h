/*
 * master.h: starts the pools of workers and replaces workers that end.
 */
#ifndef SANDLEASE_API_SERVE_MASTER_H
#define SANDLEASE_API_SERVE_MASTER_H

#include "common/conf.h"
#include "common/err.h"

/*
 * Takes the listening sockets from systemd, which names them like the pools
 * ("api", "read", "auth" and "stream"), or makes them in run_dir.  Replaces
 * workers that end, until SIGTERM or SIGINT; then stops all workers.  Sandboxes
 * keep running, and open streams do for a while.
 *
 * If descriptor 0 is a listening socket, as FastCGI servers pass it, the master
 * serves only that one, with the pool named `pool` (NULL: api).
 */
int master_run(const struct conf *conf, const char *pool, struct err *e)
    MUST_CHECK;

/*
 * Checks that the service would work with these settings.  The database
 * answers, and not through a pooler in transaction mode.  Seal keys and
 * directories are there.  The storage is the one of this host's row.  A sandbox
 * can be made.
 */
int master_check(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
