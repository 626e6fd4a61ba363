/* history.c: lists events of sessions, audit entries and reaper passes. */
#include <inttypes.h>
#include <stdio.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "api/org_share.h"
#include "api/v1/handlers.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/start.h"
#include "control/waiter.h"

enum {
	PAGE_DEFAULT = 100,
	PAGE_MAX = 1000,
	WAIT_MAX_S = 30,
	SETUP_ASK_S = 2, /* longest wait while a setup runs */
	KIND_MAX = 64
};

struct history_page {
	char from[24]; /* the page begins after this id */
	char ask[24];  /* rows to ask for: limit + 1 */
	size_t limit;
	json_t *list; /* owned */
	int64_t next; /* `from` of the next page */
};

static void
release_page(struct history_page *p)
{
	json_decref(p->list);
}
#define auto_page __attribute__((cleanup(release_page)))

/*
 * Reads the page's query; `from` is the parameter for its begin (default
 * p->next).
 */
static int
read_page(struct call *c, const char *from, struct history_page *p,
    struct err *e)
{
	int64_t limit = PAGE_DEFAULT;

	if (call_query_int(c, from, 0, INT64_MAX, &p->next, e) < 0 ||
	    call_query_int(c, "limit", 1, PAGE_MAX, &limit, e) < 0)
		return -1;
	snprintf(p->from, sizeof(p->from), "%" PRId64, p->next);
	snprintf(p->ask, sizeof(p->ask), "%" PRId64, limit + 1);
	p->limit = (size_t)limit;
	p->list = json_array();
	return 0;
}

/* Appends rows of (id, json) to the page; skips rows whose id is NULL. */
static int
append_rows(struct history_page *p, const struct rows *r, struct err *e)
{
	for (size_t i = 0; i < rows_count(r) && i < p->limit; i++) {
		json_t *entry = NULL;

		if (rows_null(r, i, "id"))
			continue;
		if (rows_json(r, i, "json", &entry, e) < 0)
			return -1;
		json_array_append_new(p->list, entry);
		p->next = rows_int(r, i, "id");
	}
	return 0;
}

static void
reply_history(struct call *c, const char *name, const struct history_page *p)
{
	auto_json json_t *reply =
	    json_pack("{s:O, s:I}", name, p->list, "next", (json_int_t)p->next);

	call_reply(c, 200, reply);
}

static int
list_events(struct call *c, struct history_page *p, struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app->store, STMT_EVENT_LIST, &r, e, call_var(c, "id"),
		app->who.tenant, p->from, p->ask) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	return append_rows(p, r, e);
}

/*
 * Reads the events again after each notification, until there is one.  Reads
 * them once more at the deadline: if the store has reconnected, its LISTEN was
 * lost.
 */
static int
poll_events(struct call *c, struct history_page *p, int64_t deadline_ms,
    struct err *e)
{
	enum listen_why why = LISTEN_TOLD;

	while (why != LISTEN_GONE) {
		if (list_events(c, p, e) < 0)
			return -1;
		if (json_array_size(p->list) > 0 || why == LISTEN_TIME)
			return 0;
		if (listen_wait(app_of(c)->store, call_fd(c), deadline_ms, &why,
			e) < 0)
			return -1;
	}
	return 0;
}

static int
wait_for_events(struct call *c, struct history_page *p, int64_t seconds,
    struct err *e)
{
	struct app *app = app_of(c);
	int64_t deadline_ms = clock_ms() + seconds * 1000;
	struct waiter w;
	int rc = waiter_begin(&w, app->store, call_var(c, "id"),
	    app->who.tenant, deadline_ms, e);

	if (rc == 0)
		rc = poll_events(c, p, deadline_ms, e);
	waiter_end(&w);
	return rc;
}

/*
 * The output of a setup becomes events only when a process asks the wrapper for
 * it.  If no other process does, this call asks, and waits for a short time
 * only, so that its client comes back and asks again.
 */
static int
ask_setup(struct call *c, struct history_page *p, int64_t *seconds,
    struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id"), *tenant = app_of(c)->who.tenant;
	struct session_row s;

	if (ctl == NULL || control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (!s.setup || s.state != SESSION_INITIALIZING ||
	    !start_move_on(ctl, id, tenant))
		return 0;
	if (*seconds > SETUP_ASK_S)
		*seconds = SETUP_ASK_S;
	return list_events(c, p, e);
}

/*
 * A call that waits holds a worker, so only some may wait (org_share.h).  The
 * others answer at once with Retry-After.
 */
int
v1_session_events(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	auto_page struct history_page p = { 0 };
	int64_t seconds = 0;

	if (read_page(c, "after", &p, e) < 0 ||
	    call_query_int(c, "wait", 0, WAIT_MAX_S, &seconds, e) < 0 ||
	    list_events(c, &p, e) < 0)
		return -1;
	if (seconds > 0 && json_array_size(p.list) == 0) {
		bool waited = org_share_wait(app->share, app->worker,
		    app->who.tenant, SHARE_EVENT);

		if (waited && ask_setup(c, &p, &seconds, e) < 0)
			return -1;
		if (waited && json_array_size(p.list) == 0 &&
		    wait_for_events(c, &p, seconds, e) < 0) {
			/* another call has locked the rows: the client
			 * asks again */
			if (e->code != CODE_TRY_AGAIN)
				return -1;
			waited = false;
		}
		/* the key may have been revoked during the wait */
		if (waited && access_check(c, ACCESS_READ, e) < 0)
			return -1;
		if (!waited)
			call_header(c, "Retry-After", "1");
	}
	reply_history(c, "events", &p);
	return 0;
}

static bool
is_severity(const char *s)
{
	static const char *const WORDS[] = { "info", "warning", "critical" };

	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		if (str_equal(WORDS[i], s))
			return true;
	return false;
}

/* Lists the tenant's own entries, and those without a tenant. */
int
v1_audit(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	auto_page struct history_page p = { 0 };
	auto_rows struct rows *r = NULL;
	char severity[16] = "", kind[KIND_MAX] = "";
	bool given;

	if (read_page(c, "after", &p, e) < 0 ||
	    call_query(c, "kind", kind, sizeof(kind), &given, e) < 0 ||
	    call_query(c, "severity", severity, sizeof(severity), &given, e) <
		0)
		return -1;
	if (given && !is_severity(severity))
		return err_field(e, "severity",
		    "must be info, warning or critical");
	if (STORE_RUN(app->store, STMT_AUDIT_LIST, &r, e, app->who.tenant,
		p.from, severity, kind, p.ask) < 0 ||
	    append_rows(&p, r, e) < 0)
		return -1;
	reply_history(c, "audit", &p);
	return 0;
}

/* Lists the passes on all hosts, newest first. */
int
v1_reaper_runs(struct call *c, struct err *e)
{
	auto_page struct history_page p = { .next = INT64_MAX };
	auto_rows struct rows *r = NULL;
	auto_json json_t *reply = NULL;
	json_t *cursor = json_null();

	if (read_page(c, "cursor", &p, e) < 0 ||
	    STORE_RUN(app_of(c)->store, STMT_REAPER_RUNS, &r, e, p.from,
		p.ask) < 0 ||
	    append_rows(&p, r, e) < 0)
		return -1;
	if (rows_count(r) > p.limit)
		cursor = json_sprintf("%" PRId64, p.next);
	reply = json_pack("{s:O, s:o}", "runs", p.list, "nextCursor", cursor);
	call_reply(c, 200, reply);
	return 0;
}
