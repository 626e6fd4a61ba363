/* store.c: runs named statements on the database, with libpq. */
#include "store/store.h"

#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/str.h"
#include "store/pooling.h"
#include "store/store_conn.h"

struct stmt_row {
	const char *name;
	size_t params;
	const char *sql;
};
#define STMT_TABLE STATEMENTS
#include "store/stmt_table.h"
#undef STMT_TABLE

struct store {
	PGconn *conn; /* NULL until the first statement, and after a failure */
	char *conninfo;
	char *program;
	json_t *settings; /* for each new connection: name -> text */
	bool ended;       /* the server has announced its shutdown */
	bool suspect;     /* the last connection was pooled by transaction */
	bool prepared[STMT__MAX];
};

enum { LOCK_MS = 2000, IDLE_MS = 5000, FIRST_MS = 3000 };

struct rows {
	PGresult *result;
};

struct meaning {
	const char *sqlstate; /* or a prefix, such as its class */
	const char *constraint;
	enum err_kind kind;
	enum err_code code;
};

/* clang-format off */
static const struct meaning MEANINGS[] = {
	{ "SX404", NULL, ERR_NOT_FOUND,   CODE_SESSION_NOT_FOUND },
	{ "SX410", NULL, ERR_CONFLICT,    CODE_IDEMPOTENCY_MISMATCH },
	{ "SX411", NULL, ERR_BUSY,        CODE_LEASE_BUSY },
	{ "SX412", NULL, ERR_BUSY,        CODE_LEASE_CHANGED },
	{ "SX413", NULL, ERR_CONFLICT,    CODE_SESSION_DELETING },
	{ "SX414", NULL, ERR_CONFLICT,    CODE_SESSION_LOST },
	{ "SX415", NULL, ERR_CONFLICT,    CODE_CORRELATION_CONFLICT },
	{ "SX416", NULL, ERR_CONFLICT,    CODE_TOO_MANY_KEYS },
	{ "SX417", NULL, ERR_CONFLICT,    CODE_TOO_MANY_LABELS },
	{ "SX418", NULL, ERR_INVALID,     CODE_SNAPSHOT_NOT_FOUND },
	{ "SX419", NULL, ERR_CONFLICT,    CODE_SNAPSHOT_NOT_READY },
	{ "SX420", NULL, ERR_LIMITED,     CODE_TOO_MANY_TICKETS },
	{ "SX421", NULL, ERR_CONFLICT,    CODE_SESSION_DIFFERS },
	{ "SX422", NULL, ERR_CONFLICT,    CODE_BASE_URL_ALREADY_SET },
	{ "SX423", NULL, ERR_CONFLICT,    CODE_STORAGE_MISMATCH },
	{ "SX424", NULL, ERR_CONFLICT,    CODE_SNAPSHOT_LOST },
	{ "SX425", NULL, ERR_INVALID,     CODE_UNKNOWN_PRESET },
	{ "SX426", NULL, ERR_INVALID,     CODE_CLASS_WITHOUT_NETWORK },
	{ "SX427", NULL, ERR_INVALID,     CODE_LIMIT_TOO_HIGH },
	{ "SX428", NULL, ERR_INVALID,     CODE_UNKNOWN_AGENT_TYPE },
	{ "SX429", NULL, ERR_LIMITED,     CODE_QUOTA_EXCEEDED },
	{ "SX430", NULL, ERR_GONE,        CODE_SESSION_DELETED },
	{ "SX431", NULL, ERR_NOT_FOUND,   CODE_WEBHOOK_NOT_FOUND },
	{ "SX432", NULL, ERR_CONFLICT,    CODE_WEBHOOK_DISABLED },
	{ "SX433", NULL, ERR_INVALID,     CODE_UNKNOWN_TIME_ZONE },
	{ "SX434", NULL, ERR_INVALID,     CODE_SCHEDULE_NEVER },
	{ "SX435", NULL, ERR_UNAVAILABLE, CODE_SANDBOX_TAKEN },
	{ "SX503", NULL, ERR_UNAVAILABLE, CODE_DRAINING },
	{ "SX505", NULL, ERR_UNAVAILABLE, CODE_OTHER_HOST },
	{ "SX507", NULL, ERR_NO_SPACE,    CODE_INSUFFICIENT_STORAGE },
	{ "23505", "session_one_living_name", ERR_CONFLICT, CODE_NAME_TAKEN },
	{ "23505", "org_trigger_name", ERR_CONFLICT, CODE_NAME_TAKEN },
	{ "23505", NULL, ERR_CONFLICT,    CODE_ALREADY_EXISTS },
	{ "23503", "sandbox_class_fkey", ERR_INVALID, CODE_UNKNOWN_CLASS },
	{ "23514", "class_writable_root_check", ERR_INVALID, CODE_NO_ROOTFS },
	{ "2200",  NULL, ERR_INVALID,     CODE_VALIDATION_FAILED },  /* a date, a number */
	{ "22021", NULL, ERR_INVALID,     CODE_VALIDATION_FAILED },  /* not UTF-8 */
	{ "22P02", NULL, ERR_INVALID,     CODE_VALIDATION_FAILED },
	{ "55P03", NULL, ERR_UNAVAILABLE, CODE_TRY_AGAIN },          /* lock_timeout */
	{ "57014", NULL, ERR_UNAVAILABLE, CODE_TRY_AGAIN },          /* statement_timeout */
	{ "40001", NULL, ERR_UNAVAILABLE, CODE_TRY_AGAIN },
	{ "40P01", NULL, ERR_UNAVAILABLE, CODE_TRY_AGAIN },          /* deadlock */
	{ "57P0",  NULL, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE }, /* shutting down */
	{ "53",    NULL, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE }, /* out of something */
	{ "08",    NULL, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE },
	{ "26000", NULL, ERR_UNAVAILABLE, CODE_TRANSACTION_POOLING }, /* no such prepared statement */
	{ "42P05", NULL, ERR_UNAVAILABLE, CODE_TRANSACTION_POOLING }, /* another client's */
	{ "25006", NULL, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE }, /* read only */
};
/* clang-format on */

static void
set_ms(struct store *st, const char *name, int ms)
{
	json_object_set_new(st->settings, name, json_sprintf("%dms", ms));
}

struct store *
store_new(const char *conninfo, const struct store_options *o)
{
	struct store *st = xcalloc(1, sizeof(*st));
	int ms = o->statement_timeout_ms;
	int lock_ms = o->lock_timeout_ms > 0 ? o->lock_timeout_ms : LOCK_MS;

	st->conninfo = xstrdup(conninfo);
	st->program = xstrdup(o->program);
	st->settings = json_object();
	set_ms(st, "statement_timeout", ms);
	set_ms(st, "lock_timeout", ms < lock_ms ? ms : lock_ms);
	set_ms(st, "idle_in_transaction_session_timeout", IDLE_MS);
	json_object_set_new(st->settings, "client_min_messages",
	    json_string("warning"));
	/* each statement is planned once, not anew for its first five uses */
	json_object_set_new(st->settings, "plan_cache_mode",
	    json_string("force_generic_plan"));
	json_object_set_new(st->settings, "jit", json_string("off"));
	json_object_set_new(st->settings, "application_name",
	    json_lossy(o->program));
	return st;
}

/* Read by sql/functions/quota.sql and sql/functions/session_awake.sql. */
void
store_limits(struct store *st, const struct conf *c)
{
	const struct {
		const char *name;
		int64_t value;
	} LIMITS[] = {
		{ "sandlease.quota_sessions", c->quota_sessions },
		{ "sandlease.quota_active", c->quota_active },
		{ "sandlease.quota_creates_per_minute",
		    c->quota_creates_per_minute },
		{ "sandlease.quota_previews", c->quota_previews },
		{ "sandlease.quota_disk_mb", c->quota_disk_mb },
		{ "sandlease.quota_snapshots", c->quota_snapshots },
		{ "sandlease.quota_snapshot_mb", c->quota_snapshot_mb },
		{ "sandlease.too_old_seconds", c->too_old_seconds },
	};

	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++)
		json_object_set_new(st->settings, LIMITS[i].name,
		    json_sprintf("%" PRId64, LIMITS[i].value));
}

void
store_disconnect(struct store *st)
{
	if (st->conn != NULL)
		PQfinish(st->conn);
	st->conn = NULL;
	st->ended = false;
	memset(st->prepared, 0, sizeof(st->prepared));
}

void
store_free(struct store *st)
{
	store_disconnect(st);
	free(st->conninfo);
	free(st->program);
	json_decref(st->settings);
	free(st);
}

/* Closes the connection; the error has the first line of libpq's message. */
static int
fail_unavailable(struct store *st, struct err *e)
{
	char first[ERR_MSG_MAX];

	snprintf(first, sizeof(first), "%s", PQerrorMessage(st->conn));
	first[strcspn(first, "\n")] = '\0';
	store_disconnect(st);
	return err_set(e, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE,
	    "the database cannot be reached: %s", first);
}

/*
 * libpq's callback for notices: the server shuts down, or it warns of something
 * (to stderr).
 */
static void
on_notice(void *arg, const PGresult *r)
{
	struct store *st = arg;
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	if (state != NULL && str_starts(state, "57P"))
		st->ended = true;
	else
		fputs(PQresultErrorMessage(r), stderr);
}

/* In DETAIL our own SQL functions put JSON, for the members of the answer. */
static void
copy_detail(const PGresult *r, const char *state, struct err *e)
{
	const char *detail = PQresultErrorField(r, PG_DIAG_MESSAGE_DETAIL);

	if (str_starts(state, "SX") && detail != NULL &&
	    !str_copy(e->more, sizeof(e->more), detail))
		e->more[0] = '\0';
}

/*
 * A statement that this connection prepared is gone, or another client prepared
 * it: the pooler was switched to transaction mode.  The statement had no
 * effect.
 */
static int
refuse_pooled(struct store *st, struct err *e)
{
	st->suspect = true;
	store_disconnect(st);
	return pooling_refuse(e, "a prepared statement");
}

static int
set_sql_error(const PGresult *r, const char *what, struct err *e)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *constraint = PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME);
	const char *msg = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	for (size_t i = 0; state != NULL && i < ARRAY_LEN(MEANINGS); i++) {
		const struct meaning *m = &MEANINGS[i];

		if (str_starts(state, m->sqlstate) &&
		    (m->constraint == NULL ||
			(constraint != NULL &&
			    str_equal(constraint, m->constraint)))) {
			err_set(e, m->kind, m->code, "%s",
			    msg != NULL ? msg : code_word(m->code));
			copy_detail(r, state, e);
			return -1;
		}
	}
	return err_set(e, ERR_INTERNAL, CODE_INTERNAL, "%s: %s (%s)", what,
	    msg != NULL ? msg : "no message", state != NULL ? state : "-----");
}

/* Sets e if the statement failed; frees the result unless *out gets it. */
static int
check_result(struct store *st, PGresult *r, const char *what, PGresult **out,
    struct err *e)
{
	ExecStatusType s = PQresultStatus(r);
	int rc = 0;

	if (s != PGRES_TUPLES_OK && s != PGRES_COMMAND_OK) {
		if (PQstatus(st->conn) != CONNECTION_OK)
			rc = fail_unavailable(st, e);
		else
			rc = set_sql_error(r, what, e);
		if (e->code == CODE_TRANSACTION_POOLING)
			rc = refuse_pooled(st, e);
	}
	if (rc == 0 && out != NULL)
		*out = r;
	else
		PQclear(r);
	return rc;
}

static int
ask_settings(struct store *st, const char *sql, const char *settings,
    PGresult **out, struct err *e)
{
	return check_result(st,
	    PQexecParams(st->conn, sql, 1, NULL, &settings, NULL, NULL, 0),
	    "settings", out, e);
}

/*
 * A pooler accepts a connection at once, and holds the first statement for
 * minutes while there is no server behind it.  So a connection counts only
 * after the first answer.
 */
static bool
is_answered(PGconn *conn, int64_t deadline_ms)
{
	struct pollfd p = { .fd = PQsocket(conn), .events = POLLIN };

	while (PQisBusy(conn) != 0) {
		if (poll(&p, 1, clock_left_ms(deadline_ms)) == 0)
			return false;
		if (PQconsumeInput(conn) == 0)
			return true; /* closed: PQgetResult() reports it */
	}
	return true;
}

static int
ask_first(struct store *st, const char *sql, struct err *e)
{
	PGresult *r, *more;

	if (PQsendQuery(st->conn, sql) == 0)
		return fail_unavailable(st, e);
	if (!is_answered(st->conn, clock_ms() + FIRST_MS)) {
		store_disconnect(st);
		return err_set(e, ERR_UNAVAILABLE, CODE_DATABASE_UNAVAILABLE,
		    "the database does not answer");
	}
	r = PQgetResult(st->conn);
	while ((more = PQgetResult(st->conn)) != NULL)
		PQclear(more);
	return check_result(st, r, "settings", NULL, e);
}

/*
 * Sets the connection's settings with a statement: a pooler silently drops the
 * options of a connection, and quotas and timeouts would be lost.  They are
 * read back in a transaction of their own.  DISCARD ALL comes first, because a
 * pooler may pass on a connection with its last client's prepared statements,
 * locks and settings.
 */
static int
configure_connection(struct store *st, struct err *e)
{
	static const char SET[] = "SELECT count(set_config(k, v, false))"
				  " FROM json_each_text($1::json) AS t (k, v)";
	static const char LOST[] =
	    "SELECT k FROM json_each_text($1::json) AS t (k, v)"
	    " WHERE k <> 'application_name' AND CASE WHEN v ~ '^[0-9]+ms$'"
	    " THEN current_setting(k, true)::interval IS DISTINCT FROM v::interval"
	    " ELSE current_setting(k, true) IS DISTINCT FROM v END";
	auto_free char *text = json_text(st->settings);
	PGresult *lost = NULL;
	int rc;

	if (ask_first(st, "DISCARD ALL", e) < 0 ||
	    ask_settings(st, SET, text, NULL, e) < 0 ||
	    ask_settings(st, LOST, text, &lost, e) < 0)
		return -1;
	rc = PQntuples(lost) == 0 ? 0
				  : pooling_refuse(e, PQgetvalue(lost, 0, 0));
	PQclear(lost);
	return rc;
}

static int
reconnect(struct store *st, struct err *e)
{
	const char *const keys[] = { "connect_timeout", "dbname",
		"application_name", NULL };
	const char *const values[] = { "2", st->conninfo, st->program, NULL };

	store_disconnect(st);
	st->conn = PQconnectdbParams(keys, values, 1);
	if (PQstatus(st->conn) != CONNECTION_OK)
		return fail_unavailable(st, e);
	PQsetNoticeReceiver(st->conn, on_notice, st);
	if (configure_connection(st, e) == 0 &&
	    (!st->suspect || store_check_pooling(st, e) == 0)) {
		st->suspect = false;
		return 0;
	}
	st->suspect = st->suspect || e->code == CODE_TRANSACTION_POOLING;
	store_disconnect(st); /* never use it without its settings */
	return -1;
}

/*
 * Whether an idle connection still works.  A server that has restarted
 * meanwhile has sent a message and closed the socket.  This must be noticed
 * before a statement is sent: a statement that fails is not sent a second time.
 * The first read gets the message, only a second one sees the end of file.
 */
static bool
is_alive(struct store *st)
{
	struct pollfd p = { .fd = PQsocket(st->conn), .events = POLLIN };

	while (poll(&p, 1, 0) > 0)
		if (PQconsumeInput(st->conn) == 0)
			return false;
	(void)PQisBusy(st->conn); /* parses the consumed input */
	return PQstatus(st->conn) == CONNECTION_OK && !st->ended;
}

static int
ensure_connected(struct store *st, struct err *e)
{
	if (st->conn != NULL && is_alive(st))
		return 0;
	return reconnect(st, e);
}

struct pg_conn *
store_conn(struct store *st, struct err *e)
{
	return ensure_connected(st, e) < 0 ? NULL : st->conn;
}

/* Another store with the same settings and a connection of its own. */
static struct store *
make_twin(const struct store *st)
{
	struct store *twin = xcalloc(1, sizeof(*twin));

	twin->conninfo = xstrdup(st->conninfo);
	twin->program = xstrdup(st->program);
	twin->settings = json_deep_copy(st->settings);
	return twin;
}

static long
ask_server_pid(struct store *st, struct err *e)
{
	PGresult *r;
	long pid = 0;

	if (ensure_connected(st, e) < 0)
		return 0;
	r = PQexec(st->conn, "SELECT pg_backend_pid()");
	if (PQresultStatus(r) == PGRES_TUPLES_OK)
		pid = strtol(PQgetvalue(r, 0, 0), NULL, 10);
	PQclear(r);
	if (pid == 0)
		fail_unavailable(st, e);
	return pid;
}

int
store_check_pooling(struct store *st, struct err *e)
{
	struct store *other = make_twin(st);
	int rc = pooling_check(st, other, ask_server_pid, e);

	store_free(other);
	return rc;
}

struct pg_conn *
store_conn_peek(struct store *st)
{
	return st->conn;
}

int
store_conn_lost(struct store *st, struct err *e)
{
	return fail_unavailable(st, e);
}

int
store_prepare(struct store *st, enum stmt stmt, struct err *e)
{
	const struct stmt_row *s = &STATEMENTS[stmt];

	if (st->prepared[stmt])
		return 0;
	if (check_result(st, PQprepare(st->conn, s->name, s->sql, 0, NULL),
		s->name, NULL, e) < 0)
		return -1;
	st->prepared[stmt] = true;
	return 0;
}

int
store_run(struct store *st, enum stmt stmt, const char *const *params,
    size_t count, struct rows **out, struct err *e)
{
	const struct stmt_row *s = &STATEMENTS[stmt];
	PGresult *r = NULL;

	if (count != s->params)
		abort();
	if (ensure_connected(st, e) < 0 || store_prepare(st, stmt, e) < 0)
		return -1;
	/* params[0] is STORE_RUN's NULL: C has no empty arrays */
	if (check_result(st,
		PQexecPrepared(st->conn, s->name, (int)count, params + 1, NULL,
		    NULL, 0),
		s->name, &r, e) < 0)
		return -1;
	if (out == NULL) {
		PQclear(r);
		return 0;
	}
	*out = xcalloc(1, sizeof(**out));
	(*out)->result = r;
	return 0;
}

int
store_script(struct store *st, const char *sql, struct err *e)
{
	if (ensure_connected(st, e) < 0)
		return -1;
	return check_result(st, PQexec(st->conn, sql), "script", NULL, e);
}

size_t
rows_count(const struct rows *r)
{
	return (size_t)PQntuples(r->result);
}

static int
column_of(const struct rows *r, const char *column)
{
	int n = PQfnumber(r->result, column);

	if (n < 0)
		abort();
	return n;
}

const char *
rows_text(const struct rows *r, size_t row, const char *column)
{
	return PQgetvalue(r->result, (int)row, column_of(r, column));
}

int64_t
rows_int(const struct rows *r, size_t row, const char *column)
{
	return strtoll(rows_text(r, row, column), NULL, 10);
}

bool
rows_bool(const struct rows *r, size_t row, const char *column)
{
	return rows_text(r, row, column)[0] == 't';
}

bool
rows_null(const struct rows *r, size_t row, const char *column)
{
	return PQgetisnull(r->result, (int)row, column_of(r, column)) != 0;
}

int
rows_json(const struct rows *r, size_t row, const char *column, json_t **out,
    struct err *e)
{
	const char *text = rows_text(r, row, column);

	return json_parse(text, strlen(text), out, e);
}

void
rows_free(struct rows **r)
{
	if (*r == NULL)
		return;
	PQclear((*r)->result);
	free(*r);
	*r = NULL;
}

const char *
store_stmt_name(enum stmt stmt)
{
	return STATEMENTS[stmt].name;
}

const char *
store_stmt_sql(enum stmt stmt)
{
	return STATEMENTS[stmt].sql;
}

size_t
store_stmt_params(enum stmt stmt)
{
	return STATEMENTS[stmt].params;
}
