/* cmd_lease.c: leases that nobody finishes, and ending one by hand. */
#include <stdio.h>

#include "admin/admin.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "domain/state.h"

enum { LIST_MAX = 10000 };

int
cmd_lease_list(struct admin *a, struct err *e)
{
	bool lost = admin_flag(a, "--without-session");
	auto_rows struct rows *r = NULL;
	char max[16];

	snprintf(max, sizeof(max), "%d", LIST_MAX);
	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_LEASE_LIST, &r, e, lost ? "true" : "false",
		max) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++)
		printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
		    rows_text(r, i, "session_id"), rows_text(r, i, "state"),
		    rows_text(r, i, "generation"),
		    rows_bool(r, i, "known") ? "session" : "no-session",
		    rows_text(r, i, "sandbox_id"), rows_text(r, i, "host"),
		    rows_text(r, i, "reason"), rows_text(r, i, "attempts"),
		    rows_text(r, i, "changed"), rows_text(r, i, "last_error"));
	return 0;
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
		    "lease release --force SESSION: it is believed without proof that nothing of it runs");
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
		printf("%s: released, it was %s; the audit log has it\n",
		    session, rows_text(r, 0, "was"));
	return 0;
}
