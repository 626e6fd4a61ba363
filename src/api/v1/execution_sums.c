/* execution_sums.c: serves sums of executions. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "common/mem.h"
#include "domain/limits.h"

enum { DAYS_DEFAULT = 100, DAYS_MAX = 1000 };

struct days_query {
	char since[16], type[AGENT_TYPE_MAX], limit[16];
};

/* A day of the calendar, as 2030-01-31. */
static bool
is_day(const char *s)
{
	struct tm tm = { 0 };
	const char *rest = strptime(s, "%Y-%m-%d", &tm);
	struct tm same = tm;

	return rest != NULL && *rest == '\0' && strlen(s) == 10 &&
	    timegm(&same) != -1 && same.tm_mday == tm.tm_mday;
}

static int
read_days_query(struct call *c, struct days_query *q, struct err *e)
{
	int64_t n = DAYS_DEFAULT;
	bool given;

	if (call_query(c, "agentType", q->type, sizeof(q->type), &given, e) <
		0 ||
	    call_query_int(c, "limit", 1, DAYS_MAX, &n, e) < 0)
		return -1;
	snprintf(q->limit, sizeof(q->limit), "%d", (int)n);
	/* one that is too long is no day either */
	if (call_query(c, "since", q->since, sizeof(q->since), &given, e) < 0 ||
	    (given && !is_day(q->since)))
		return err_field(e, "since", "must be a day as 2030-01-31");
	return 0;
}

int
v1_execution_days(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct days_query q;

	if (read_days_query(c, &q, e) < 0 ||
	    STORE_RUN(app_of(c)->store, STMT_EXECUTION_DAYS, &r, e,
		app_of(c)->who.tenant, q.type, q.since, q.limit) < 0)
		return -1;
	return reply_rows(c, "days", r, e);
}
