/*
 * worker.h: serves requests, one at a time, with one database connection.
 */
#ifndef SANDLEASE_API_SERVE_WORKER_H
#define SANDLEASE_API_SERVE_WORKER_H

#include "api/app.h"

/*
 * Serves descriptor `listen_fd` until SIGTERM; returns the exit status.  `r`:
 * revocations, for the pool `auth`.
 */
int worker_run(const struct conf *conf, enum pool pool, int listen_fd,
    struct org_share *share, struct revocations *r, size_t number);

/* Serves one request as a plain CGI program; returns the exit status. */
int worker_cgi(const struct conf *conf);

#endif
