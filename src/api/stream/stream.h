/*
 * stream.h: runs a process of the pool `stream`, which stands between nginx and
 * wrappers.
 *
 * A wrapper that dies cannot end its streams, and nginx only cuts them.  So a
 * process outside the sandbox passes them on and can send a last event.  It
 * serves many streams without threads, and has no database connection.
 */
#ifndef SANDLEASE_API_STREAM_STREAM_H
#define SANDLEASE_API_STREAM_STREAM_H

#include "common/conf.h"

/*
 * Serves descriptor `listen_fd` until SIGTERM.  Then it takes no new streams,
 * and those that are open after stream_drain_seconds get a last event.  Returns
 * the exit status.
 */
int stream_run(const struct conf *conf, int listen_fd);

#endif
