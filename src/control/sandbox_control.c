/* sandbox_control.c: ending a sandbox, with its own lease. */
#include "control/sandbox_control.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"

enum { END_SECONDS = 15 };

static int
destroy_it(struct control *ctl, const char *id, const char *incarnation,
    struct err *e)
{
	const struct provider *p = &ctl->provider;

	if (p->ops->destroy(p, id, incarnation, clock_ms() + END_SECONDS * 1000,
		e) < 0)
		return -1;
	CRASH_POINT("destroy.done");
	if (STORE_RUN(ctl->store, STMT_SANDBOX_SETTLE, NULL, e, id, incarnation,
		"absent", NULL) < 0)
		return -1;
	CRASH_POINT("destroy.settled");
	return 0;
}

int
sandbox_control_end(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
{
	auto_rows struct rows *r = NULL;
	size_t slipped_in;
	int rc;

	*done = false;
	if (STORE_RUN(ctl->store, STMT_SANDBOX_RETIRE, &r, e, id, incarnation,
		destroy ? "true" : "false", "30") < 0)
		return -1;
	if (!rows_bool(r, 0, "granted"))
		return 0;
	CRASH_POINT("retire.granted");
	if (destroy)
		rc = destroy_it(ctl, id, incarnation, e);
	else /* a session may have slipped in since the grant: it sleeps */
		rc = sandbox_control_gone(ctl, id, incarnation, &slipped_in, e);
	if (rc < 0)
		return err_wrap(e, "sandbox %s", id);
	*done = true;
	return 0;
}

int
sandbox_control_retire(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
{
	int rc;

	if (control_lock(ctl, id, e) < 0)
		return -1;
	rc = sandbox_control_end(ctl, id, incarnation, destroy, done, e);
	control_unlock(ctl, id);
	return rc;
}

static int
put_to_sleep(struct control *ctl, const char *sandbox, const char *incarnation,
    const char *why, const struct rows *r, size_t i, struct err *e)
{
	const char *session = rows_text(r, i, "session_id");
	auto_free char *spec = NULL;
	bool files = true;

	control_note_death(ctl, sandbox, session, rows_int(r, i, "generation"));
	if (ctl->provider.ops->storage_exists(&ctl->provider, sandbox, session,
		&files, e) < 0)
		return -1;
	spec = control_spec_text(
	    json_pack("{s:s, s:s, s:I, s:b, s:s, s:s, s:s*}", "incarnation",
		incarnation, "instance", rows_text(r, i, "instance"),
		"generation", (json_int_t)rows_int(r, i, "generation"), "lost",
		!files, "reason", files ? why : "storage_gone", "trace",
		ctl->trace, "actor", control_actor(ctl)));
	CRASH_POINT("gone.noted");
	if (STORE_RUN(ctl->store, STMT_SESSION_SANDBOX_GONE, NULL, e, session,
		spec) < 0)
		return -1;
	CRASH_POINT("gone.slept");
	return 0;
}

/* Whoever owns a wrapper in it, which went down with it. */
static int
put_all_to_sleep(struct control *ctl, const char *id, const char *incarnation,
    const char *why, size_t *sessions, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_OWNED_IN, &r, e, id) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++, (*sessions)++)
		if (put_to_sleep(ctl, id, incarnation, why, r, i, e) < 0)
			return -1;
	return 0;
}

/*
 * Ends the incarnation, then what its sessions say, then its row: that says
 * stopped only when no session's row says anything else, so that until then
 * the next look finds it down and goes on.
 */
static int
end_all(struct control *ctl, const char *id, const char *incarnation,
    const char *why, size_t *sessions, struct err *e)
{
	const struct provider *p = &ctl->provider;

	*sessions = 0;
	if (p->ops->stop(p, id, incarnation, clock_ms() + END_SECONDS * 1000,
		e) < 0)
		return -1;
	CRASH_POINT("gone.stopped");
	if (put_all_to_sleep(ctl, id, incarnation, why, sessions, e) < 0)
		return -1;
	CRASH_POINT("gone.emptied");
	if (STORE_RUN(ctl->store, STMT_SANDBOX_SETTLE, NULL, e, id, incarnation,
		"stopped", NULL) < 0)
		return -1;
	CRASH_POINT("gone.settled");
	/* who slipped in before that is starting, and has a deadline */
	return put_all_to_sleep(ctl, id, incarnation, why, sessions, e);
}

int
sandbox_control_gone(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e)
{
	return end_all(ctl, id, incarnation, "sandbox_gone", sessions, e);
}

int
sandbox_control_condemn(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e)
{
	return end_all(ctl, id, incarnation, "sandbox_destroyed", sessions, e);
}
