/* capacity.c: checks whether this host has room for a new workspace. */
#include "control/capacity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { STALE_SECONDS = 20 * 60, LIST_MS = 2000, CLEAN_MS = 5000 };

/* One search for stale workspaces. */
struct stale_search {
	struct control *ctl;
	const char *sandbox, *session; /* these need room */
	struct workspace *seen;        /* owned */
	size_t seen_count;
};

static int
measure(struct control *ctl, const char *sandbox, struct capacity *out,
    struct err *e)
{
	struct err why = { 0 };

	if (ctl->provider.ops->capacity(&ctl->provider, sandbox, out, &why) < 0)
		return err_set(e, ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
		    "the free space of this host cannot be measured: %s",
		    err_told(&why));
	return 0;
}

/* Below disk_low_mb nothing is admitted, even if capacity_min_mb is lower. */
static int64_t
needed_bytes(const struct conf *c)
{
	return (c->capacity_min_mb > c->disk_low_mb ? c->capacity_min_mb
						    : c->disk_low_mb)
	    << 20;
}

static int64_t
age_on_disk(const struct stale_search *k, const char *session)
{
	for (size_t i = 0; i < k->seen_count; i++)
		if (str_equal(k->seen[i].session, session))
			return k->seen[i].age_seconds;
	return -1;
}

/*
 * Whether no process of the session is left.  The kernel must count none in its
 * cgroup, and the init of its sandbox must not list it.  Init is not asked if
 * the sandbox itself has no process left.
 */
static bool
is_dead(struct stale_search *k, const struct rows *r, size_t i, struct err *e)
{
	const struct provider *p = &k->ctl->provider;
	const char *sandbox = rows_text(r, i, "sandbox_id");
	const char *session = rows_text(r, i, "session_id");
	auto_free struct agent_cell *cells = NULL;
	struct agent_cells list = { 0 };
	struct sandbox_seen seen;
	bool gone;

	if (p->ops->inspect(p, sandbox, &seen, e) < 0 ||
	    seen.presence == PRESENCE_UNKNOWN ||
	    p->ops->cell_gone(p, sandbox, session, &gone, e) < 0 || !gone)
		return false;
	if (seen.presence != PRESENCE_RUNNING)
		return true;
	str_copy(list.sandbox, sizeof(list.sandbox), sandbox);
	str_copy(list.incarnation, sizeof(list.incarnation), seen.incarnation);
	agent_cells_all(p, clock_ms() + LIST_MS, &list, 1);
	cells = list.cells;
	*e = list.e;
	for (size_t n = 0; n < list.count; n++)
		if (str_equal(cells[n].session, session))
			return false;
	return list.answered;
}

/*
 * Removes the workspace of candidate i if it is stale.  Its age is the time
 * since the session ended or, without a row, the age of its directory.  A
 * session that failed before it was ever ready has no work in it, but could be
 * resumed: STMT_STALE_CLAIM rules that out before the files go.
 */
static int
remove_if_stale(struct stale_search *k, const struct rows *r, size_t i,
    struct err *e)
{
	const struct provider *p = &k->ctl->provider;
	enum session_state state =
	    state_session_parse(rows_text(r, i, "state"));
	const char *session = rows_text(r, i, "session_id");
	int64_t age = state != SESSION_UNKNOWN ? rows_int(r, i, "ended_seconds")
					       : age_on_disk(k, session);
	auto_rows struct rows *claimed = NULL;

	if (age < STALE_SECONDS || !is_dead(k, r, i, e))
		return 0;
	if (state == SESSION_FAILED) {
		if (STORE_RUN(k->ctl->store, STMT_STALE_CLAIM, &claimed, e,
			session, k->ctl->trace) < 0)
			return -1;
		if (!rows_bool(claimed, 0, "claimed"))
			return 0;
		CRASH_POINT("stale.claimed");
	}
	if (p->ops->storage_drop(p, rows_text(r, i, "sandbox_id"), session, e) <
	    0)
		return -1;
	CRASH_POINT("stale.dropped");
	log_line(LOG_WARN, "stale_workspace",
	    "the workspace of session %s is removed", session);
	return 0;
}

/*
 * Reads the candidates.  A directory in this sandbox without a row is one, too.
 */
static int
read_candidates(struct stale_search *k, struct rows **r, struct err *e)
{
	const struct provider *p = &k->ctl->provider;
	auto_buf struct buf names = { 0 };

	if (p->ops->workspaces(p, k->sandbox, &k->seen, &k->seen_count, e) < 0)
		return -1;
	for (size_t i = 0; i < k->seen_count; i++) {
		buf_add(&names, ",", i > 0 ? 1 : 0);
		buf_add(&names, k->seen[i].session, strlen(k->seen[i].session));
	}
	return STORE_RUN(k->ctl->store, STMT_STALE_CANDIDATES, r, e, k->session,
	    k->ctl->conf->host_name, names.len > 0 ? names.data : "");
}

/*
 * Removes stale workspaces of the owner.  A candidate that cannot be checked is
 * skipped.  If the directories or the rows cannot be listed, nothing is
 * removed.
 */
static void
remove_stale_workspaces(struct control *ctl, const char *sandbox,
    const char *session, int64_t deadline_ms)
{
	struct stale_search k = { .ctl = ctl,
		.sandbox = sandbox,
		.session = session };
	int64_t end = clock_ms() + CLEAN_MS;
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };
	bool left;

	if (deadline_ms < end)
		end = deadline_ms;
	if (read_candidates(&k, &r, &e) < 0) {
		log_err(LOG_WARN, "stale_workspace", &e);
	} else {
		for (size_t i = 0; i < rows_count(r) && clock_left_ms(end) > 0;
		     i++)
			if (remove_if_stale(&k, r, i, &e) < 0)
				log_err(LOG_WARN, "stale_workspace", &e);
	}
	free(k.seen);
	/* space is free only when the trash has been unlinked */
	if (ctl->provider.ops->sweep(&ctl->provider, end, &left, &e) < 0)
		log_err(LOG_WARN, "trash", &e);
	CRASH_POINT("stale.swept");
}

int
capacity_admit(struct control *ctl, const char *sandbox, const char *session,
    int64_t deadline_ms, struct err *e)
{
	int64_t need = needed_bytes(ctl->conf);
	struct capacity has;

	if (measure(ctl, sandbox, &has, e) < 0)
		return -1;
	if (has.room_bytes >= need)
		return 0;
	remove_stale_workspaces(ctl, sandbox, session, deadline_ms);
	if (measure(ctl, sandbox, &has, e) < 0)
		return -1;
	if (has.room_bytes >= need)
		return 0;
	log_line(LOG_ERROR, "disk_low",
	    "%" PRId64 " MB and %" PRId64 " of %" PRId64
	    " inodes are free, a new workspace needs %" PRId64
	    " MB, and the same share of the inodes",
	    has.free_bytes >> 20, has.free_files, has.total_files, need >> 20);
	return err_set(e, ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
	    "this host has too little free space for a new workspace");
}
