/* usage.c: shows the quotas of an org and what it uses of them. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "common/mem.h"
#include "domain/state.h"

struct quota_row {
	const char *name;
	const char *limit, *used; /* columns of quota_usage */
};

static const struct quota_row QUOTAS[] = {
	{ "sessions", "max_sessions", "sessions" },
	{ "active", "max_active", "active" },
	{ "createsPerMinute", "creates_per_minute", "creates" },
	{ "findsPerMinute", "finds_per_minute", "finds" },
	{ "previews", "max_previews", "previews" },
	{ "diskMb", "max_disk_mb", "disk_mb" },
	{ "snapshots", "max_snapshots", "snapshots" },
	{ "snapshotMb", "max_snapshot_mb", "snapshot_mb" },
};

/* No limit is {"limit": null}: clients would take 0 for a limit. */
static json_t *
quotas_of(const struct rows *r)
{
	json_t *out = json_object();

	for (size_t i = 0; i < ARRAY_LEN(QUOTAS); i++) {
		int64_t limit = rows_int(r, 0, QUOTAS[i].limit);

		json_object_set_new(out, QUOTAS[i].name,
		    json_pack("{s:o, s:I}", "limit",
			limit > 0 ? json_integer(limit) : json_null(), "used",
			(json_int_t)rows_int(r, 0, QUOTAS[i].used)));
	}
	return out;
}

static json_t *
states_of(const struct rows *r)
{
	json_t *out = json_object();

	for (int i = SESSION_UNKNOWN + 1; SESSION_STATES[i] != NULL; i++)
		if (i != SESSION_DELETED)
			json_object_set_new(out, SESSION_STATES[i],
			    json_integer(0));
	for (size_t i = 0; i < rows_count(r); i++)
		json_object_set_new(out, rows_text(r, i, "state"),
		    json_integer(rows_int(r, i, "sessions")));
	return out;
}

int
v1_usage(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *usage = NULL, *states = NULL;
	auto_json json_t *reply = NULL;

	if (STORE_RUN(app->store, STMT_QUOTA_USAGE, &usage, e,
		app->who.tenant) < 0 ||
	    STORE_RUN(app->store, STMT_SESSION_STATES, &states, e,
		app->who.tenant) < 0)
		return -1;
	reply = json_pack("{s:o, s:o}", "quotas", quotas_of(usage), "states",
	    states_of(states));
	call_reply(c, 200, reply);
	return 0;
}
