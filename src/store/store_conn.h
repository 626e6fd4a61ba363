/*
 * store_conn.h: gives the other files of this room a store's connection.
 */
#ifndef SANDLEASE_STORE_STORE_CONN_H
#define SANDLEASE_STORE_STORE_CONN_H

#include "store/store.h"

struct pg_conn; /* libpq's PGconn */

/* The connection; reconnects if it is gone.  NULL with e set. */
struct pg_conn *store_conn(struct store *st, struct err *e);

/* The connection without reconnecting; NULL: there is none. */
struct pg_conn *store_conn_peek(struct store *st);

/* Prepares a statement on the connection, if that is not done yet. */
int store_prepare(struct store *st, enum stmt stmt, struct err *e) MUST_CHECK;

/* Closes a dead connection and sets e; always -1. */
int store_conn_lost(struct store *st, struct err *e);

#endif
