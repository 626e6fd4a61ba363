/* cmd_org.c: how an org's sessions are kept apart. */
#include <stdio.h>

#include "admin/admin.h"
#include "common/mem.h"
#include "common/str.h"

static bool
is_isolation(const char *s)
{
	static const char *const WORDS[] = { "session", "shared", "inherit" };

	for (size_t i = 0; s != NULL && i < ARRAY_LEN(WORDS); i++)
		if (str_equal(WORDS[i], s))
			return true;
	return false;
}

int
cmd_org_set(struct admin *a, struct err *e)
{
	const char *isolation = admin_option(a, "--isolation");
	const char *org = admin_argument(a);

	if (org == NULL || !is_isolation(isolation))
		return err_set(e, ERR_INVALID, "usage",
		    "org set ORG --isolation session|shared|inherit");
	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_ORG_SET_ISOLATION, NULL, e, org,
		isolation) < 0)
		return -1;
	printf("new sessions of %s: %s\n", org, isolation);
	return 0;
}
