/* v1_service.c: how the service itself is doing. */
#include <inttypes.h>
#include <stdio.h>

#include "api/access.h"
#include "api/app.h"
#include "api/handlers.h"
#include "api/openapi.h"
#include "common/mem.h"
#include "control/disk.h"

int
v1_live(struct call *c, struct err *e)
{
	(void)e;
	call_reply_empty(c, 204);
	return 0;
}

/* What only an operator can do something about. */
static int
add_admin_details(struct call *c, json_t *reply, struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *lost = NULL, *stops = NULL;
	const struct control *ctl;
	struct err ignored = {
		0
	}; /* a host that is not ready has no figures */
	json_t *disk = NULL;
	char attempts[24];

	if (!access_scope_allows(app->who.scope, ACCESS_ADMIN))
		return 0;
	snprintf(attempts, sizeof(attempts), "%" PRId64,
	    app->conf->stop_alert_attempts);
	if (STORE_RUN(app->store, STMT_LEASES_LOST, &lost, e) < 0 ||
	    STORE_RUN(app->store, STMT_STOPS_FAILING_COUNT, &stops, e,
		attempts) < 0)
		return -1;
	json_object_set_new(reply, "leasesWithoutMetadata",
	    json_integer(rows_int(lost, 0, "lost")));
	json_object_set_new(reply, "failingStops",
	    json_integer(rows_int(stops, 0, "failing")));
	ctl = app_control(c, &ignored);
	if (ctl != NULL)
		disk = disk_json(ctl);
	if (disk != NULL)
		json_object_set_new(reply, "disk", disk);
	return 0;
}

/* Anyone may know that it works; how much is going on needs a key. */
int
v1_health(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;
	auto_json json_t *reply = NULL;
	struct credential k;
	bool draining;

	if (STORE_RUN(app->store, STMT_HEALTH, &r, e) < 0 ||
	    access_credential(c, &k, e) < 0)
		return -1;
	draining = rows_bool(r, 0, "draining");
	reply = json_pack("{s:s, s:s}", "status", draining ? "draining" : "ok",
	    "version", PACKAGE_VERSION);
	if (k.given) {
		if (access_check(c, ACCESS_READ, e) < 0)
			return -1;
		json_object_set_new(reply, "database", json_string("ok"));
		json_object_set_new(reply, "activeSessions",
		    json_integer(rows_int(r, 0, "active")));
		json_object_set_new(reply, "lastReaperPass",
		    rows_null(r, 0, "reaped")
			? json_null()
			: json_string(rows_text(r, 0, "reaped")));
		if (add_admin_details(c, reply, e) < 0)
			return -1;
	}
	call_reply(c, 200, reply);
	return 0;
}

int
v1_openapi(struct call *c, struct err *e)
{
	auto_json json_t *doc = openapi_document(app_of(c)->conf->public_url);

	(void)e;
	call_reply(c, 200, doc);
	return 0;
}
