/*
 * disk_watch.h: the process that watches the disk.
 *
 * A minute, which is the reaper's time, is enough to fill any disk; so the
 * master keeps one process that looks ten times a second.  It is idle and without
 * a database connection as long as there is room.
 */
#ifndef SANDLEASE_API_SERVE_DISK_WATCH_H
#define SANDLEASE_API_SERVE_DISK_WATCH_H

#include "common/conf.h"

/* Until SIGTERM; returns the exit status. */
int watch_run(const struct conf *conf);

#endif
