/*
 * master.h: keeps two pools of workers alive.
 */
#ifndef SANDLEASE_API_MASTER_H
#define SANDLEASE_API_MASTER_H

#include "common/conf.h"
#include "common/err.h"

/*
 * Takes the listening sockets from systemd (names "api" and "auth") or makes
 * them in run_dir, and replaces workers as they end, until SIGTERM or SIGINT;
 * then ends them, and nothing else: sandboxes live on.
 */
int master_run(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
