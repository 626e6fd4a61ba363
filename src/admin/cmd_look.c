/* cmd_look.c: prints orgs, the audit log and the reaper's passes. */
#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"
#include "common/str.h"

static const struct column ORGS[] = {
	{ "ORG", "org" },
	{ "ISOLATION", "isolation" },
	{ "KEYS", "keys" },
	{ "SESSIONS", "sessions" },
	{ "ACTIVE", "active" },
	{ "DISK-MB", "diskMb" },
	{ "SNAPSHOTS", "snapshots" },
	{ "AGE", "ageSeconds", COLUMN_SPAN },
	{ "NETWORK", "network", COLUMN_POLICY },
};

static const struct column AUDIT[] = {
	{ "ID", "id" },
	{ "AT", "at" },
	{ "SEVERITY", "severity" },
	{ "KIND", "kind" },
	{ "ORG", "tenant" },
	{ "SUBJECT", "subject" },
	{ "DETAIL", "detail", COLUMN_JSON },
};

static const struct column RUNS[] = {
	{ "ID", "id" },
	{ "HOST", "host" },
	{ "STARTED", "startedAt" },
	{ "MS", "durationMs" },
	{ "SCANNED", "scanned" },
	{ "STOPPED", "stopped" },
	{ "ORPHANS", "orphans" },
	{ "STUCK", "stuck" },
	{ "OLD", "old" },
	{ "FAILURES", "failures" },
};

int
cmd_org_list(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_ORGS,
		.columns = ORGS,
		.column_count = ARRAY_LEN(ORGS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

int
cmd_org_show(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *o = NULL;
	const char *org;

	if (admin_only_argument(a, &org, e) < 0 ||
	    STORE_RUN(a->store, STMT_ADMIN_ORG, &r, e, org) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_ORG_NOT_FOUND,
		    "there is no org %s; see org list", org);
	if (rows_json(r, 0, "json", &o, e) < 0)
		return -1;
	list_print_one(a, o);
	return 0;
}

static bool
is_severity(const char *s)
{
	return s == NULL || str_equal(s, "info") || str_equal(s, "warning") ||
	    str_equal(s, "critical");
}

int
cmd_audit_list(struct admin *a, struct err *e)
{
	const char *severity = admin_option(a, "--severity");
	const struct listing l = { .stmt = STMT_ADMIN_AUDIT,
		.filters = { admin_option(a, "--org"), severity,
		    admin_option(a, "--kind") },
		.filter_count = 3,
		.columns = AUDIT,
		.column_count = ARRAY_LEN(AUDIT) };

	if (!is_severity(severity))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--severity %s: must be info, warning or critical",
		    severity);
	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

int
cmd_reaper_runs(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_RUNS,
		.filters = { admin_option(a, "--host") },
		.filter_count = 1,
		.columns = RUNS,
		.column_count = ARRAY_LEN(RUNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}
