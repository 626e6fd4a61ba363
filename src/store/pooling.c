/*
 * pooling.c: checks that a connection to the database keeps its server process.
 *
 * A pooler in transaction mode gives each transaction any server process that
 * is free.  One connection alone cannot notice that: it gets the same process
 * each time while no other client sends statements.
 */
#include "store/pooling.h"

enum {
	/* while other clients use the pool, one round may succeed by chance */
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
 * A pooler that prefers the process used last gives the process of `st` to
 * `other`.  A pooler that takes its processes in turn gives `st` a new one.
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
