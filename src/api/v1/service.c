/* service.c: reports the health of the service. */
#include <inttypes.h>
#include <stdio.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "api/v1/handlers.h"
#include "common/mem.h"
#include "control/disk.h"

int
v1_live(struct call *c, struct err *e)
{
	(void)e;
	call_reply_empty(c, 204);
	return 0;
}

/* A pass begins each minute; a long one delays the next. */
enum { REAPER_LATE_S = 300 };

/* Why the service is degraded: a column of the row, and the word for it. */
static const struct {
	const char *column;
	const char *word;
} TROUBLES[] = {
	{ "failing", "failing_stops" },
	{ "lost", "leases_without_metadata" },
	{ "reaper_late", "reaper_late" },
	{ "starts_fail", "starts_fail" },
};

static json_t *
reasons_of(const struct rows *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(TROUBLES); i++)
		if (rows_bool(r, 0, TROUBLES[i].column) ||
		    rows_int(r, 0, TROUBLES[i].column) > 0)
			json_array_append_new(list,
			    json_string(TROUBLES[i].word));
	return list;
}

/*
 * Adds what this host lacks to `reasons`.  Rows cannot tell: a create that was
 * refused because of it has left no row.  Each host reports for itself only.
 */
static void
add_host_trouble(struct call *c, json_t *reasons)
{
	struct err e = { 0 };
	const struct control *ctl = app_control(c, &e);

	if (ctl == NULL || control_ready(ctl, &e) < 0)
		json_array_append_new(reasons, json_string(code_word(e.code)));
}

static int
read_health(struct call *c, struct rows **r, struct err *e)
{
	struct app *app = app_of(c);
	char attempts[24], late[24];

	snprintf(attempts, sizeof(attempts), "%" PRId64,
	    app->conf->stop_alert_attempts);
	snprintf(late, sizeof(late), "%" PRId64,
	    REAPER_LATE_S + app->conf->reaper_pass_seconds);
	return STORE_RUN(app->store, STMT_HEALTH, r, e, attempts, late);
}

/* The warm pool of all hosts; absent if there is no answer. */
static void
add_warm(struct call *c, json_t *reply)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *warm = NULL;
	struct err ignored = { 0 };

	if (STORE_RUN(app_of(c)->store, STMT_WARM_SHOW, &r, &ignored) == 0 &&
	    rows_json(r, 0, "json", &warm, &ignored) == 0)
		json_object_set(reply, "warm", warm);
}

/* Adds details that only an operator can act on. */
static void
add_admin_details(struct call *c, const struct rows *r, json_t *reply)
{
	const struct control *ctl;
	struct err ignored = { 0 };
	json_t *disk = NULL;

	if (!access_scope_allows(app_of(c)->who.scope, ACCESS_ADMIN))
		return;
	json_object_set_new(reply, "leasesWithoutMetadata",
	    json_integer(rows_int(r, 0, "lost")));
	json_object_set_new(reply, "failingStops",
	    json_integer(rows_int(r, 0, "failing")));
	add_warm(c, reply);
	ctl = app_control(c, &ignored);
	if (ctl != NULL) /* a host that is not ready has no figures */
		disk = disk_json(ctl);
	if (disk != NULL)
		json_object_set_new(reply, "disk", disk);
}

/* Draining is intended, so it hides the trouble that may follow from it. */
static const char *
status_of(const struct rows *r, const json_t *reasons)
{
	if (rows_bool(r, 0, "draining"))
		return "draining";
	return json_array_size(reasons) > 0 ? "degraded" : "ok";
}

/*
 * Every client sees the status; reasons and numbers need a key.  The status
 * code is always 200, because a service that answers is not down.
 */
int
v1_health(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *reply = NULL, *reasons = NULL;
	struct credential k;

	if (read_health(c, &r, e) < 0 || access_credential(c, &k, e) < 0)
		return -1;
	reasons = reasons_of(r);
	add_host_trouble(c, reasons);
	reply = json_pack("{s:s, s:s}", "status", status_of(r, reasons),
	    "version", PACKAGE_VERSION);
	if (k.given) {
		if (access_check(c, ACCESS_READ, e) < 0)
			return -1;
		json_object_set(reply, "reasons", reasons);
		json_object_set_new(reply, "database", json_string("ok"));
		json_object_set_new(reply, "activeSessions",
		    json_integer(rows_int(r, 0, "active")));
		json_object_set_new(reply, "lastReaperPass",
		    rows_null(r, 0, "reaped")
			? json_null()
			: json_string(rows_text(r, 0, "reaped")));
		add_admin_details(c, r, reply);
	}
	call_reply(c, 200, reply);
	return 0;
}
