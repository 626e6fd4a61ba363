/*
 * store.h: runs named statements on the database.
 *
 * Statements live in sql/statements and are prepared on first use.  A store is
 * one connection; it reconnects by itself when the last one is gone.  A
 * statement fails with ERR_UNAVAILABLE if the database cannot be reached.  The
 * store never retries a statement, because it cannot know whether the first try
 * had effect.
 */
#ifndef SANDLEASE_STORE_STORE_H
#define SANDLEASE_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "common/json.h"
#include "common/mem.h"
#include "store/stmt_table.h"

struct store;
struct rows; /* the result of a statement */

#define auto_rows __attribute__((cleanup(rows_free)))

struct store_options {
	const char *program; /* application_name */
	int statement_timeout_ms;
	int lock_timeout_ms; /* 0: 2 s, or statement_timeout_ms if that is less */
};

/* Never fails: the first statement connects. */
struct store *store_new(const char *conninfo, const struct store_options *o);
void store_free(struct store *st);

/*
 * Passes the service's limits to SQL: quotas, for orgs without quotas of their
 * own, and how old a session may get.  The next connection sets them and reads
 * them back.  A store for which this is not called has no such limits.
 */
void store_limits(struct store *st, const struct conf *c);

/*
 * Runs one statement.  Parameters are text; NULL is SQL's NULL.  The process
 * aborts if there are more or fewer than the statement names.  The caller owns
 * *out (`out` may be NULL).
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
 * Checks, with a second connection, that each has a server process of its own;
 * else ERR_UNAVAILABLE "transaction_pooling".  Behind a pooler in transaction
 * mode clients would share locks, settings and prepared statements.  Once a
 * statement has noticed such a pooler, every statement fails with the same
 * error until a new connection passes this check.
 */
int store_check_pooling(struct store *st, struct err *e) MUST_CHECK;

/* Drops the connection, and with it every advisory lock it held. */
void store_disconnect(struct store *st);

size_t rows_count(const struct rows *r);
/* "" for SQL's NULL.  Aborts if the statement has no such column. */
const char *rows_text(const struct rows *r, size_t row, const char *column);
int64_t rows_int(const struct rows *r, size_t row, const char *column);
bool rows_bool(const struct rows *r, size_t row, const char *column);
bool rows_null(const struct rows *r, size_t row, const char *column);
/* Parses the column, which must not be NULL; the caller owns *out. */
int rows_json(const struct rows *r, size_t row, const char *column,
    json_t **out, struct err *e) MUST_CHECK;
void rows_free(struct rows **r);

/* The statements' names and texts, for the test that prepares them all. */
const char *store_stmt_name(enum stmt stmt);
const char *store_stmt_sql(enum stmt stmt);
size_t store_stmt_params(enum stmt stmt);

#endif
