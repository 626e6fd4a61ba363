/* disk_account.c: measures what sessions have on disk, and enforces limits. */
#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/disk.h"
#include "control/stop.h"
#include "provider/link/disk_usage.h"
#include "provider/link/link.h"

enum { ASK_MS = 4000 };

/*
 * The index of the largest session if the sandbox as a whole is over `limit`,
 * else `count`.
 */
static size_t
find_over_limit(const struct agent_disk_usage *u, size_t count, int64_t limit)
{
	size_t largest = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		sum += u[i].bytes;
		if (u[i].bytes > u[largest].bytes)
			largest = i;
	}
	return sum > limit ? largest : count;
}

static int
record_usage(struct control *ctl, const char *sandbox,
    const struct agent_disk_usage *u, bool over, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char used[24];

	snprintf(used, sizeof(used), "%" PRId64, u->bytes >> 20);
	if (STORE_RUN(ctl->store, STMT_DISK_MEASURED, &r, e, u->session,
		sandbox, used, over ? "true" : "false") < 0)
		return -1;
	CRASH_POINT("disk.measured");
	if (rows_count(r) == 0)
		return 0;
	over = rows_bool(r, 0, "over");
	/* a session that hides some of its files gets no time to tidy up */
	if (!rows_bool(r, 0, "still_over") && (!over || u->whole))
		return 0;
	log_line(LOG_WARN, "disk_limit",
	    "session %s has %s MB, which is over its limit: it is put to sleep",
	    u->session, used);
	if (stop_request(ctl, u->session, STOP_SLEEP, "unhealthy-wrapper",
		"disk_limit", -1, e) < 0)
		return -1;
	CRASH_POINT("disk.limit");
	return stop_attempt(ctl, u->session, e);
}

static int
account_one(struct control *ctl, const struct rows *r, size_t i, struct err *e)
{
	const char *sandbox = rows_text(r, i, "sandbox_id");
	auto_free struct agent_disk_usage *u = NULL;
	size_t count, over;

	if (agent_disk_usage(&ctl->provider, sandbox,
		rows_text(r, i, "incarnation"), clock_ms() + ASK_MS, &u, &count,
		e) < 0)
		return -1;
	over = find_over_limit(u, count, rows_int(r, i, "disk_mb") << 20);
	for (size_t k = 0; k < count; k++)
		if (record_usage(ctl, sandbox, &u[k], k == over, e) < 0)
			return -1;
	return 0;
}

int
disk_account(struct control *ctl, int64_t deadline_ms, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct err one;
	char every[24];
	int rc = 0;

	if (ctl->conf->disk_account_seconds == 0)
		return 0;
	snprintf(every, sizeof(every), "%" PRId64,
	    ctl->conf->disk_account_seconds);
	if (STORE_RUN(ctl->store, STMT_DISK_DUE, &r, e, ctl->conf->host_name,
		every, "200") < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r) && clock_left_ms(deadline_ms) > 0;
	     i++)
		if (account_one(ctl, r, i, &one) < 0) {
			*e = one; /* the others are still measured */
			rc = -1;
		}
	return rc;
}
