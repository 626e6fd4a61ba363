/*
 * disk_watch.h: runs the process that watches the disk.
 *
 * The reaper runs once a minute, which is time enough to fill any disk.  So the
 * master keeps one process that looks at the disk ten times a second.  The
 * process has no database connection as long as there is room.
 */
#ifndef SANDLEASE_API_SERVE_DISK_WATCH_H
#define SANDLEASE_API_SERVE_DISK_WATCH_H

#include "common/conf.h"

/* Runs until SIGTERM; returns the exit status. */
int watch_run(const struct conf *conf);

#endif
