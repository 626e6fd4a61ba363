/* cmd_snapshot.c: lists, shows and deletes snapshots of all orgs. */
#include <stdio.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/snapshot_control.h"

static const struct column COLUMNS[] = {
	{ "SNAPSHOT", "id" },
	{ "ORG", "org" },
	{ "SESSION", "sessionId" },
	{ "NAME", "name" },
	{ "STATE", "state" },
	{ "MB", "sizeMb" },
	{ "HOST", "host" },
	{ "AGE", "ageSeconds", COLUMN_SPAN },
	{ "BY", "createdBy" },
};

static bool
is_state(const char *s)
{
	static const char *const STATES[] = { "creating", "ready", "failed",
		"lost", "deleting" };

	for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
		if (str_equal(STATES[i], s))
			return true;
	return false;
}

int
cmd_snapshot_list(struct admin *a, struct err *e)
{
	const char *state = admin_option(a, "--state");
	const struct listing l = { .stmt = STMT_ADMIN_SNAPSHOTS,
		.filters = { admin_option(a, "--org"),
		    admin_option(a, "--session"), state,
		    admin_option(a, "--host") },
		.filter_count = 4,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	if (state != NULL && !is_state(state))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--state %s: must be creating, ready, failed, lost or deleting",
		    state);
	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

/* Reads the snapshot that the operand *id names. */
static int
read_snapshot(struct admin *a, const char **id, struct rows **r, struct err *e)
{
	if (admin_only_argument(a, id, e) < 0 ||
	    STORE_RUN(a->store, STMT_ADMIN_SNAPSHOT, r, e, *id) < 0)
		return -1;
	if (rows_count(*r) > 0)
		return 0;
	return err_set(e, ERR_NOT_FOUND, CODE_SNAPSHOT_NOT_FOUND,
	    "there is no snapshot %s; see snapshot list", *id);
}

int
cmd_snapshot_show(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *o = NULL;
	const char *id;

	if (read_snapshot(a, &id, &r, e) < 0 ||
	    rows_json(r, 0, "json", &o, e) < 0)
		return -1;
	list_print_one(a, o);
	return 0;
}

int
cmd_snapshot_rm(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct control ctl;
	const char *id;
	bool here;

	if (read_snapshot(a, &id, &r, e) < 0 ||
	    control_open(a->conf, a->store, &ctl, e) < 0)
		return -1;
	here = str_equal(rows_text(r, 0, "host"), a->conf->host_name);
	if (snapshot_delete(&ctl, "", rows_text(r, 0, "tenant"), id, e) < 0 ||
	    STORE_RUN(a->store, STMT_ADMIN_SNAPSHOT_REMOVED, NULL, e, id,
		rows_text(r, 0, "tenant")) < 0)
		return -1;
	if (here)
		printf("snapshot %s is deleted\n", id);
	else
		printf(
		    "snapshot %s is deleted; the reaper of host %s removes its files\n",
		    id, rows_text(r, 0, "host"));
	return 0;
}
