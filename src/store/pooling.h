/*
 * pooling.h: checks that a connection to the database keeps its server process.
 */
#ifndef SANDLEASE_STORE_POOLING_H
#define SANDLEASE_STORE_POOLING_H

#include "store/store.h"

/* The pid of the server process behind `st` right now; 0 with e set. */
typedef long server_pid_fn(struct store *st, struct err *e);

/*
 * 0: `st` keeps its server process, and `other`, a store with the same
 * settings, has another process.
 */
int pooling_check(struct store *st, struct store *other,
    server_pid_fn *server_pid, struct err *e) MUST_CHECK;

/*
 * Sets the error for a pooler in transaction mode; `lost` names the thing that
 * did not stay with the connection.  Always -1.
 */
int pooling_refuse(struct err *e, const char *lost);

#endif
