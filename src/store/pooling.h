/*
 * pooling.h: whether a connection to the database is one's own.
 */
#ifndef SANDLEASE_STORE_POOLING_H
#define SANDLEASE_STORE_POOLING_H

#include "store/store.h"

/* The server process behind a store's connection right now; 0 with e set. */
typedef long server_pid_fn(struct store *st, struct err *e);

/*
 * Whether `st` keeps its server process, and `other`, which has the same
 * settings, has another one.
 */
int pooling_check(struct store *st, struct store *other,
    server_pid_fn *server_pid, struct err *e) MUST_CHECK;

/* -1: the database is behind a pooler that gives what was lost to others. */
int pooling_refuse(struct err *e, const char *lost);

#endif
