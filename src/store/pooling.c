/*
 * pooling.c: whether a connection to the database is one's own.
 *
 * A pooler in transaction mode gives each transaction whatever server process
 * is free.  One connection alone cannot tell: while nobody else asks, it gets the
 * same process each time.
 */
#include "store/pooling.h"

enum {
	/* with others at work in the pool, one round may look right by chance */
	ROUNDS = 16
};

int
pooling_refuse(struct err *e, const char *lost)
{
	return err_set(e, ERR_UNAVAILABLE, CODE_TRANSACTION_POOLING,
	    "the database is behind a pooler in transaction mode (%s is not kept); connect directly, or set pool_mode = session",
	    lost);
}

/*
 * A pooler that takes the process used last gives this one's to the other
 * connection; one that takes them in turn gives this connection another.
 */
int
pooling_check(struct store *st, struct store *other, server_pid_fn *server_pid,
    struct err *e)
{
	long own = server_pid(st, e);

	if (own == 0)
		return -1;
	for (int i = 0; i < ROUNDS; i++) {
		long again = server_pid(st, e), theirs = server_pid(other, e);

		if (again == 0 || theirs == 0)
			return -1;
		if (again != own || theirs == own)
			return pooling_refuse(e, "the server process");
		again = server_pid(st, e);
		if (again == 0)
			return -1;
		if (again != own)
			return pooling_refuse(e, "the server process");
	}
	return 0;
}
