/*
 * store.h: the database, by named statement.
 *
 * Statements live in sql/statements and are prepared on first use.  A store
 * is one connection; it reconnects by itself when the last one is gone, and a
 * statement on a dead database fails with ERR_UNAVAILABLE.  Nothing here
 * retries a statement: whether it was carried out cannot be known.
 */
#ifndef SANDLEASE_STORE_STORE_H
#define SANDLEASE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "common/mem.h"
#include "store/stmt_table.h"

struct store;
struct rows; /* what a statement answered */

#define auto_rows __attribute__((cleanup(rows_free)))

struct store_options {
	const char *program;      /* application_name */
	int statement_timeout_ms; /* lock_timeout is at most 2 s */
};

/* Never fails: connecting happens with the first statement. */
struct store *store_new(const char *conninfo, const struct store_options *o);
void store_free(struct store *st);

/*
 * The service's own limits that SQL must know: quotas, for those orgs that have
 * none of theirs, and how old a session may get.  They are set, and read back,
 * on the next connection.  Without them there are none.
 */
void store_limits(struct store *st, const struct conf *c);

/*
 * Runs one statement.  Parameters are text, NULL is SQL's; as many as the
 * statement names, or the process aborts.  *out (may be NULL) is the caller's.
 */
#define STORE_RUN(st, stmt, out, e, ...)                                       \
	store_run((st), (stmt), (const char *const[]){ NULL, ##__VA_ARGS__ },  \
	    ARRAY_LEN(((const char *const[]){ NULL, ##__VA_ARGS__ })) - 1,     \
	    (out), (e))
int store_run(struct store *st, enum stmt stmt, const char *const *params,
    size_t count, struct rows **out, struct err *e) MUST_CHECK;

/* Runs a script of several statements (migrations), not prepared. */
int store_script(struct store *st, const char *sql, struct err *e) MUST_CHECK;

/*
 * Checks, with a second connection, that each has a server process of its own:
 * behind a pooler in transaction mode locks, settings and prepared statements
 * would be anybody's.  ERR_UNAVAILABLE "transaction_pooling" if not.  So is every
 * statement, from the first one that notices until a connection passes this check.
 */
int store_check_pooling(struct store *st, struct err *e) MUST_CHECK;

/* Drops the connection, and with it every advisory lock it held. */
void store_disconnect(struct store *st);

size_t rows_count(const struct rows *r);
/* "" for SQL's NULL; a column the statement does not have aborts. */
const char *rows_text(const struct rows *r, size_t row, const char *column);
int64_t rows_int(const struct rows *r, size_t row, const char *column);
bool rows_bool(const struct rows *r, size_t row, const char *column);
bool rows_null(const struct rows *r, size_t row, const char *column);
void rows_free(struct rows **r);

/* The statements' names and texts, for the test that prepares them all. */
const char *store_stmt_name(enum stmt stmt);
const char *store_stmt_sql(enum stmt stmt);
size_t store_stmt_params(enum stmt stmt);

#endif
