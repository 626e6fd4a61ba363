/* cmd_lease.c: lists leases, and releases one by hand. */
#include <stdio.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "common/id.h"
#include "common/mem.h"
#include "domain/state.h"

int
cmd_lease_list(struct admin *a, struct err *e)
{
	static const struct column COLUMNS[] = {
		{ "SESSION", "session" },
		{ "STATE", "state" },
		{ "GENERATION", "generation" },
		{ "SESSION-ROW", "sessionRow" },
		{ "ORG", "org" },
		{ "USER", "user" },
		{ "SANDBOX", "sandbox" },
		{ "HOST", "host" },
		{ "REASON", "reason" },
		{ "ATTEMPTS", "attempts" },
		{ "CHANGED", "changedAt" },
		{ "LAST-ERROR", "lastError" },
	};
	const struct listing l = { .stmt = STMT_LEASE_LIST,
		.filters = { admin_flag(a, "--without-session") ? "true"
								: "false" },
		.filter_count = 1,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

int
cmd_lease_release(struct admin *a, struct err *e)
{
	bool force = admin_flag(a, "--force");
	const char *session = admin_argument(a);
	auto_rows struct rows *r = NULL;
	char trace[ID_REQUEST_LEN + 1];

	if (session == NULL || !force)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "usage: sandlease-admin lease release --force SESSION; it takes for granted that nothing of the session runs");
	if (admin_no_more(a, e) < 0)
		return -1;
	if (!id_is_session(session))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "\"%.40s\" is not a session id", session);
	id_random(trace, ID_REQUEST_LEN);
	if (STORE_RUN(a->store, STMT_LEASE_FORCE_RELEASE, &r, e, session,
		trace) < 0)
		return -1;
	if (rows_null(r, 0, "was"))
		return err_set(e, ERR_NOT_FOUND, CODE_NO_LEASE,
		    "there is no lease of session %s", session);
	if (state_lease_parse(rows_text(r, 0, "was")) == LEASE_NONE)
		printf("%s: there was nothing to release\n", session);
	else
		printf("%s: released, the lease was %s; see audit list\n",
		    session, rows_text(r, 0, "was"));
	return 0;
}
