/* sandbox_control.c: stops and destroys sandboxes, in step with their rows. */
#include "control/sandbox_control.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/provider.h"

enum { END_SECONDS = 15 };

/* Whether the rows name the sandbox `id`. */
static bool
has_sandbox(const struct rows *r, const char *id)
{
	for (size_t i = 0; i < rows_count(r); i++)
		if (str_equal(rows_text(r, i, "id"), id))
			return true;
	return false;
}

static json_t *
list_ids(const struct sandbox_end *all, size_t count, bool only_done)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		if (!only_done || all[i].done)
			json_array_append_new(list,
			    json_pack("{s:s, s:s}", "id", all[i].id,
				"incarnation", all[i].incarnation));
	return list;
}

static void
fail_all(struct sandbox_end *all, size_t count, const struct err *why)
{
	for (size_t i = 0; i < count; i++) {
		all[i].done = false;
		all[i].why = *why;
	}
}

/* Intent: the statement grants the sandboxes that no session needs. */
static int
write_intent(struct control *ctl, struct sandbox_end *all, size_t count,
    bool destroy, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = control_spec_text(list_ids(all, count, false));

	if (STORE_RUN(ctl->store, STMT_SANDBOXES_RETIRE, &r, e, text,
		destroy ? "true" : "false", "30") < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		all[i].done = has_sandbox(r, all[i].id);
	CRASH_POINT("retire.granted");
	return 0;
}

static void
begin_all(const struct control *ctl, const struct sandbox_end *all,
    size_t count, bool destroy)
{
	const struct provider *p = &ctl->provider;

	if (p->ops->begin_end == NULL || count < 2)
		return;
	for (size_t i = 0; i < count; i++)
		if (all[i].done)
			p->ops->begin_end(p, all[i].id, all[i].incarnation,
			    destroy);
	CRASH_POINT("retire.begun");
}

static void
end_one(struct control *ctl, struct sandbox_end *s, bool destroy)
{
	const struct provider *p = &ctl->provider;
	size_t sessions;
	int rc;

	if (destroy)
		rc = p->ops->destroy(p, s->id, s->incarnation,
		    clock_ms() + END_SECONDS * 1000, &s->why);
	else
		rc = sandbox_control_gone(ctl, s->id, s->incarnation, &sessions,
		    &s->why);
	s->done = rc == 0;
	if (rc < 0 && !destroy && s->why.code == CODE_STALE_INCARNATION)
		s->why = (struct err){ 0 }; /* the next incarnation ended it */
	else if (rc < 0)
		err_wrap(&s->why, "sandbox %s", s->id);
	else
		s->why = (struct err){ 0 }; /* success: drop the error */
}

/*
 * Best effort: a failed sandbox is due again whether or not its row says why.
 */
static void
note_failures(struct control *ctl, const struct sandbox_end *all, size_t count)
{
	json_t *list = json_array();
	auto_free char *text = NULL;
	struct err e = { 0 };
	size_t n;

	for (size_t i = 0; i < count; i++)
		if (all[i].why.kind != ERR_NONE)
			json_array_append_new(list,
			    json_pack("{s:s, s:s, s:s}", "id", all[i].id,
				"incarnation", all[i].incarnation, "error",
				all[i].why.msg));
	n = json_array_size(list);
	text = control_spec_text(list);
	if (n > 0 &&
	    STORE_RUN(ctl->store, STMT_SANDBOXES_FAILED, NULL, &e, text) < 0)
		log_err(LOG_WARN, "sandbox_failed", &e);
}

void
sandbox_control_end_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy)
{
	auto_free char *text = NULL;
	struct err e = { 0 };

	if (count == 0)
		return;
	if (write_intent(ctl, all, count, destroy, &e) < 0) {
		fail_all(all, count, &e);
		return;
	}
	begin_all(ctl, all, count, destroy);
	for (size_t i = 0; i < count; i++)
		if (all[i].done)
			end_one(ctl, &all[i], destroy);
	CRASH_POINT("retire.done");
	note_failures(ctl, all, count);
	text = control_spec_text(list_ids(all, count, true));
	if (destroy &&
	    STORE_RUN(ctl->store, STMT_SANDBOXES_SETTLE, NULL, &e, text,
		"absent") < 0)
		fail_all(all, count, &e);
	CRASH_POINT("retire.settled");
}

/*
 * Takes the locks that are free; *count becomes their number.  Waits for a lock
 * only if there is just one sandbox.
 */
static int
lock_all(struct control *ctl, struct sandbox_end *all, size_t *count,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	json_t *ids = json_array();
	size_t kept = 0;

	for (size_t i = 0; i < *count; i++)
		json_array_append_new(ids, json_string(all[i].id));
	text = control_spec_text(ids);
	if (*count == 1)
		return control_lock(ctl, all[0].id, e);
	if (STORE_RUN(ctl->store, STMT_SANDBOXES_TRY_LOCK, &r, e, text) < 0)
		return -1;
	/* to the front of `all`: the caller reads all of them afterwards */
	for (size_t i = 0; i < *count; i++)
		if (has_sandbox(r, all[i].id)) {
			struct sandbox_end s = all[kept];

			all[kept++] = all[i];
			all[i] = s;
		}
	*count = kept;
	return 0;
}

void
sandbox_control_retire_all(struct control *ctl, struct sandbox_end *all,
    size_t count, bool destroy)
{
	auto_json json_t *ids = json_array();
	size_t locked = count;
	struct err e = { 0 };

	if (count == 0)
		return;
	if (lock_all(ctl, all, &locked, &e) < 0) {
		fail_all(all, count, &e);
		return;
	}
	sandbox_control_end_all(ctl, all, locked, destroy);
	for (size_t i = 0; i < locked; i++)
		json_array_append_new(ids, json_string(all[i].id));
	control_unlock_all(ctl, ids);
}

int
sandbox_control_retire(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
{
	struct sandbox_end one = { .id = id, .incarnation = incarnation };

	sandbox_control_retire_all(ctl, &one, 1, destroy);
	*done = one.done;
	if (one.why.kind == ERR_NONE)
		return 0;
	*e = one.why;
	return -1;
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

/*
 * Puts the sessions to sleep that own a wrapper in the sandbox, which is down.
 */
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
 * Ends the incarnation, then updates its sessions' rows, then its own.  Its row
 * becomes `stopped` only when the row of no session contradicts it.  Until then
 * the next look finds the sandbox down and goes on.
 */
static int
end_incarnation(struct control *ctl, const char *id, const char *incarnation,
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
	/*
	 * Once more, for sessions that began to start in it meanwhile.  If this
	 * fails, their startup deadline ends them.
	 */
	return put_all_to_sleep(ctl, id, incarnation, why, sessions, e);
}

int
sandbox_control_gone(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e)
{
	return end_incarnation(ctl, id, incarnation, "sandbox_gone", sessions,
	    e);
}

int
sandbox_control_condemn(struct control *ctl, const char *id,
    const char *incarnation, size_t *sessions, struct err *e)
{
	return end_incarnation(ctl, id, incarnation, "sandbox_destroyed",
	    sessions, e);
}
