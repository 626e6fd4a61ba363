/*
 * store_conn.h: the connection of a store, for the other files of this room.
 */
#ifndef SANDLEASE_STORE_STORE_CONN_H
#define SANDLEASE_STORE_STORE_CONN_H

#include "store/store.h"

struct pg_conn; /* libpq's PGconn */

/* The connection, made anew if the last one is gone; NULL with e set. */
struct pg_conn *store_conn(struct store *st, struct err *e);

/* As it is: NULL when there is none. */
struct pg_conn *store_conn_peek(struct store *st);

/* Drops a connection that turned out to be dead; -1 and why. */
int store_conn_lost(struct store *st, struct err *e);

#endif
