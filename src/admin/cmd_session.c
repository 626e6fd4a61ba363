/* cmd_session.c: lists and shows sessions of all orgs. */
#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"
#include "domain/state.h"

static const struct column COLUMNS[] = {
	{ "SESSION", "id" },
	{ "ORG", "org" },
	{ "USER", "user" },
	{ "NAME", "name" },
	{ "STATE", "state" },
	{ "LEASE", "lease" },
	{ "CLASS", "class" },
	{ "HOST", "host" },
	{ "AGE", "ageSeconds", COLUMN_SPAN },
	{ "REASON", "reason" },
};

int
cmd_session_list(struct admin *a, struct err *e)
{
	const char *state = admin_option(a, "--state");
	const struct listing l = { .stmt = STMT_ADMIN_SESSIONS,
		.filters = { admin_option(a, "--org"),
		    admin_option(a, "--user"), state, admin_option(a, "--host"),
		    admin_option(a, "--name"),
		    admin_flag(a, "--all") ? "true" : "false" },
		.filter_count = 6,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	if (state != NULL && state_session_parse(state) == SESSION_UNKNOWN)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--state %s: must be initializing, ready, sleeping, asleep, deleting, deleted, failed or lost",
		    state);
	if (admin_no_more(a, e) < 0)
		return -1;
	return list_print(a, &l, e);
}

/*
 * The token of a preview is sealed, so it is of no use to an operator.  Whether
 * a session is busy is known to its wrapper only, not to its row.
 */
static void
remove_misleading_members(json_t *o)
{
	json_t *session = json_object_get(o, "session"), *port;
	json_t *ports = json_object_get(session, "ports");
	size_t i;

	json_object_del(session, "busy");
	json_object_del(session, "alive");
	json_array_foreach(ports, i, port)
	{
		json_object_del(port, "token");
	}
}

int
cmd_session_show(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *o = NULL;
	const char *id;

	if (admin_only_argument(a, &id, e) < 0 ||
	    STORE_RUN(a->store, STMT_ADMIN_SESSION, &r, e, id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no session %s; see session list", id);
	if (rows_json(r, 0, "json", &o, e) < 0)
		return -1;
	remove_misleading_members(o);
	list_print_one(a, o);
	return 0;
}
