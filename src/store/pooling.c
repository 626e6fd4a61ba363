/*
 * pooling.c: whether a connection to the database is one's own.
 *
 * A pooler in transaction mode gives each transaction whatever server process
 * is free.  One connection alone cannot tell: while nobody else asks, it gets the
 * same process each time.
 */
#include <libpq-fe.h>
#include <stdlib.h>

#include "store/store_conn.h"

enum {
	/* with others at work in the pool, one round may look right by chance */
	ROUNDS = 16
};

int
store_say_pooled(struct err *e, const char *lost)
{
	return err_set(e, ERR_UNAVAILABLE, CODE_TRANSACTION_POOLING,
	    "the database is behind a pooler in transaction mode (%s is not kept); connect directly, or set pool_mode = session",
	    lost);
}

/* The server process behind the connection right now; 0 with e set. */
static long
server_pid(struct store *st, struct err *e)
{
	struct pg_conn *conn = store_conn(st, e);
	PGresult *r;
	long pid = 0;

	if (conn == NULL)
		return 0;
	r = PQexec(conn, "SELECT pg_backend_pid()");
	if (PQresultStatus(r) == PGRES_TUPLES_OK)
		pid = strtol(PQgetvalue(r, 0, 0), NULL, 10);
	PQclear(r);
	if (pid == 0)
		store_conn_lost(st, e);
	return pid;
}

/*
 * A pooler that takes the process used last gives this one's to the other
 * connection; one that takes them in turn gives this connection another.
 */
static int
compare(struct store *st, struct store *other, struct err *e)
{
	long own = server_pid(st, e);

	if (own == 0)
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		long again = server_pid(st, e), theirs = server_pid(other, e);

		if (again == 0 || theirs == 0)
			return -1;
		if (again != own || theirs == own)
			return store_say_pooled(e, "the server process");
		again = server_pid(st, e);
		if (again == 0)
			return -1;
		if (again != own)
			return store_say_pooled(e, "the server process");
	}
	return 0;
}

int
store_check_pooling(struct store *st, struct err *e)
{
	struct store *other = store_twin(st);
	int rc = compare(st, other, e);

	store_free(other);
	return rc;
}
