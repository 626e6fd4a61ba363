/*
 * stream.h: the pool `stream`: between nginx and wrappers for event streams.
 *
 * A wrapper that dies cannot end its streams, and nginx only cuts them: so
 * somebody outside the sandbox stands between.  One process, no threads, many
 * streams, no database.
 */
#ifndef SANDLEASE_API_STREAM_STREAM_H
#define SANDLEASE_API_STREAM_STREAM_H

#include "common/conf.h"

/*
 * Serves descriptor `listen_fd` until SIGTERM; then takes nothing new, and
 * what goes on after stream_drain_seconds gets its last event.  Returns the
 * exit status.
 */
int stream_run(const struct conf *conf, int listen_fd);

#endif
