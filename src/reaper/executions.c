/* executions.c: takes the results of executions that nobody asks for. */
#include "reaper/executions.h"

#include <time.h>

#include "common/log.h"
#include "common/mem.h"
#include "control/execution_artifact.h"
#include "control/execution_control.h"

enum {
	BATCH = 50,
	LOOK_SECONDS = 5, /* between two looks at the same */
	FORGET_BATCH = 1000,
	SLOT_SECONDS = 60,
	ARTIFACT_SLOTS = 256 /* as in provider/store/artifact.h */
};

/*
 * Asks, unless the wrapper did not answer before: each answer takes its time.
 * One that is overdue, and whose wrapper does not answer, is ended.
 */
static void
look_at(struct pass *p, json_t *mute, const struct rows *r, size_t i)
{
	const char *id = rows_text(r, i, "id");
	const char *session = rows_text(r, i, "session_id");
	struct err e = { 0 };

	if (json_object_get(mute, session) != NULL)
		return;
	/* one whose session is being started or stopped waits for the next pass */
	if (execution_look(p->ctl, id, &e) == 0)
		return;
	json_object_set_new(mute, session, json_true());
	if (e.kind == ERR_UNAVAILABLE && rows_bool(r, i, "overdue")) {
		log_err(LOG_WARN, "execution_overdue", &e);
		if (execution_end_overdue(p->ctl, id, &e) == 0)
			return;
	}
	if (e.kind != ERR_BUSY)
		pass_failed(p, "executions", &e);
}

static void
forget_old(struct pass *p)
{
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_EXECUTIONS_FORGET, NULL, &e,
		pass_number(p->ctl->conf->retention_days).text,
		pass_number(FORGET_BATCH).text) < 0)
		pass_failed(p, "executions", &e);
}

/*
 * Removes what is old.  Each pass looks for files without a row in one slot of
 * 256, by the clock: after some hours it has seen all.
 */
void
executions_artifacts(struct pass *p)
{
	int slot = (int)(time(NULL) / SLOT_SECONDS % ARTIFACT_SLOTS);
	struct err e = { 0 };
	int64_t removed = 0;

	if (p->dry_run)
		return;
	if (execution_artifacts_sweep(p->ctl, slot, &removed, &e) < 0)
		pass_failed(p, "artifacts", &e);
	if (removed > 0)
		log_line(LOG_INFO, "artifacts", "removed %lld files",
		    (long long)removed);
}

void
executions_look(struct pass *p)
{
	auto_json json_t *mute = json_object();
	size_t n = 1;

	if (p->dry_run)
		return; /* a look is recorded */
	forget_old(p);
	while (n > 0 && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_EXECUTIONS_TO_LOOK_AT, &r, &e,
			p->ctl->conf->host_name, pass_number(LOOK_SECONDS).text,
			pass_number(BATCH).text) < 0) {
			pass_failed(p, "executions", &e);
			return;
		}
		n = rows_count(r);
		p->scanned += (int64_t)n;
		for (size_t i = 0; i < n && pass_has_time(p); i++)
			look_at(p, mute, r, i);
	}
}
