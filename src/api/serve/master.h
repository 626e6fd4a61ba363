/*
 * master.h: keeps the pools of workers alive.
 */
#ifndef SANDLEASE_API_SERVE_MASTER_H
#define SANDLEASE_API_SERVE_MASTER_H

#include "common/conf.h"
#include "common/err.h"

/*
 * Takes the listening sockets from systemd (named as the pools are: "api",
 * "auth" and "stream") or makes them in run_dir, and replaces workers as they
 * end, until SIGTERM or SIGINT; then ends them, and nothing else: sandboxes
 * live on, and streams for a while.
 *
 * With a listening socket as descriptor 0, as FastCGI has it, only that one is
 * served, by the pool named `pool` (NULL: api).
 */
int master_run(const struct conf *conf, const char *pool, struct err *e)
    MUST_CHECK;

/*
 * Whether the service would work as it is set up: the database answers, and not
 * through a pooler in transaction mode; seal keys and directories are there, and
 * the storage is the one that the row of this host names; a sandbox can be made.
 */
int master_check(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
