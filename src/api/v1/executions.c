/* executions.c: serves the routes of executions. */
#include "api/app.h"
#include "api/gate/access.h"
#include "api/org_share.h"
#include "api/v1/execution_body.h"
#include "api/v1/execution_call.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "api/v1/session_body.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/execution_control.h"
#include "domain/state.h"

enum {
	STATE_MAX = 32,
	START_MS = 10000 /* to start a session, if the org's share allows it */
};

int
execution_read_own(struct call *c, const char *id, struct rows **r,
    struct err *e)
{
	if (!id_is_session(id))
		return execution_not_found(e);
	if (STORE_RUN(app_of(c)->store, STMT_EXECUTION_GET, r, e, id,
		app_of(c)->who.tenant) < 0)
		return -1;
	return rows_count(*r) == 0 ? execution_not_found(e) : 0;
}

static int
reply_execution(struct call *c, int status, const char *id, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (execution_read_own(c, id, &r, e) < 0)
		return -1;
	return reply_row(c, status, r, e);
}

int
execution_read_wait(struct call *c, int64_t *until_ms, struct err *e)
{
	struct app *app = app_of(c);
	int64_t seconds = 0;

	*until_ms = 0;
	if (wait_seconds(c, &seconds, e) < 0)
		return -1;
	if (seconds == 0)
		return 0;
	if (org_share_wait(app->share, app->worker, app->who.tenant,
		SHARE_ANSWER))
		*until_ms = app_deadline(c, seconds * 1000);
	else
		call_header(c, "Retry-After", "1");
	return 0;
}

bool
execution_may_ask(struct call *c, const struct rows *r)
{
	struct app *app = app_of(c);

	return !org_share_is_mute(app->share, rows_text(r, 0, "session_id")) &&
	    org_share_wait(app->share, app->worker, app->who.tenant,
		SHARE_ANSWER);
}

void
execution_note_mute(struct call *c, const struct rows *r, const struct err *e)
{
	if (e->kind == ERR_UNAVAILABLE && e->code != CODE_OTHER_HOST)
		org_share_mute(app_of(c)->share, rows_text(r, 0, "session_id"));
}

int
execution_may_send(struct call *c, struct err *e)
{
	struct app *app = app_of(c);

	if (org_share_wait(app->share, app->worker, app->who.tenant,
		SHARE_ANSWER))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_BUSY,
	    "the org has too many calls at once; try again");
}

/* A question that fails leaves the row as it is, which is an answer, too. */
static void
pull(struct call *c, struct control *ctl, const char *id, int64_t until_ms)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (execution_read_own(c, id, &r, &e) < 0 || !execution_may_ask(c, r))
		return;
	if (execution_pull(ctl, id, until_ms, &e) == 0)
		return;
	log_err(LOG_INFO, "execution_pull", &e);
	execution_note_mute(c, r, &e);
}

int
execution_read_now(struct call *c, struct control *ctl, const char *id,
    struct rows **r, struct err *e)
{
	if (execution_read_own(c, id, r, e) < 0)
		return -1;
	if (rows_bool(*r, 0, "over"))
		return 0;
	pull(c, ctl, id, 0);
	rows_free(r);
	return execution_read_own(c, id, r, e);
}

static int
pull_checked(struct call *c, struct control *ctl, const char *id,
    int64_t until_ms, struct err *e)
{
	pull(c, ctl, id, until_ms);
	/* the key may have been revoked during the wait */
	return access_check(c, ACCESS_TENANT, e);
}

/*
 * Answers, and then deletes the session, if this was the last execution of one
 * that was made for it, or tidies up in it.  The reaper does what fails here.
 * `status` 0: 200 if it has ended, else 202.
 */
static int
reply_and_clean(struct call *c, struct control *ctl, int status, const char *id,
    const struct execution_rest *rest, struct err *e)
{
	auto_rows struct rows *r = NULL;
	struct err why = { 0 };
	bool gone;

	if (execution_read_own(c, id, &r, e) < 0)
		return -1;
	if (status == 0)
		status = rows_bool(r, 0, "over") ? 200 : 202;
	if (reply_row(c, status, r, e) < 0)
		return -1;
	call_end(c);
	if (!rows_bool(r, 0, "deleting"))
		execution_tidy(ctl, rest);
	else if (session_control_delete(ctl, rows_text(r, 0, "session_id"), "",
		     &gone, &why) < 0)
		log_err(LOG_INFO, "execution_clean_up", &why);
	return 0;
}

/* As the body says, which `work`, `shown` and `hash` are made of. */
static struct execution_options
options_of(const struct execution_body *b, json_t *work, const char *shown,
    const char *hash)
{
	return (struct execution_options){ .agent_type = b->agent_type,
		.task_id = b->task_id,
		.hash = hash,
		.command = shown,
		.work = work,
		.limits = b->limits,
		.cleanup = execution_body_cleanup(b),
		.max_retries = b->max_retries };
}

/* A failure is told by the state of the executions. */
static void
deliver(struct call *c, struct control *ctl, const char *session)
{
	struct err why = { 0 };

	if (execution_deliver(ctl, session, app_deadline(c, START_MS), &why) <
	    0)
		log_err(LOG_INFO, "execution_deliver", &why);
}

int
v1_session_execution_create(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *work = NULL;
	auto_free char *shown = NULL;
	auto_free struct execution_body *b = xcalloc(1, sizeof(*b));
	struct execution_options o;
	char hash[TOKEN_HASH_HEX_MAX], id[ID_MAX];
	struct execution_made made;
	int64_t until_ms;

	if (ctl == NULL || execution_body_read(c, b, &json, e) < 0 ||
	    execution_read_wait(c, &until_ms, e) < 0)
		return -1;
	request_hash(c, json, hash);
	work = execution_body_work(b);
	shown = execution_body_shown(b);
	o = options_of(b, work, shown, hash);
	o.session = call_var(c, "id");
	if (execution_create(ctl, &app->who, &o, until_ms, id, &made, e) < 0)
		return -1;
	/* a client that does not wait gets its answer before the start */
	if (made.waiting && until_ms == 0) {
		if (reply_execution(c, made.is_new ? 202 : 200, id, e) < 0)
			return -1;
		call_end(c);
	}
	if (made.waiting)
		deliver(c, ctl, o.session);
	if (c->status != 0)
		return 0;
	if (until_ms > 0 && !made.rest.over &&
	    pull_checked(c, ctl, id, until_ms, e) < 0)
		return -1;
	return reply_and_clean(c, ctl, made.is_new ? 202 : 200, id, &made.rest,
	    e);
}

/* ---- with a session of its own */

int
execution_read_command(struct call *c, struct execution_body *b, struct err *e)
{
	auto_rows struct rows *r = NULL;
	const char *command;

	if (b->command[0] != '\0' || b->argv != NULL)
		return 0;
	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_COMMAND, &r, e,
		app_of(c)->who.tenant, b->agent_type) < 0)
		return -1;
	command = rows_count(r) > 0 ? rows_text(r, 0, "command") : "";
	if (command[0] == '\0')
		return err_field(e, "command",
		    "give command, argv or context.command: the profile %s has none",
		    b->agent_type);
	str_copy(b->command, sizeof(b->command), command);
	return 0;
}

static struct session_options
session_of(struct call *c, const struct execution_body *b)
{
	return (struct session_options){ .class_name = b->class_name,
		.agent_type = b->agent_type,
		.correlation_keys = b->correlation_keys,
		.network = b->network,
		.limits = b->limits,
		.files_in_root = b->files_in_root,
		.isolation = b->isolation,
		.sleep_after_seconds = app_of(c)->conf->sleep_after_seconds,
		.told = true,
		.for_execution = true };
}

int
v1_execution_run(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *work = NULL;
	auto_free char *shown = NULL;
	auto_free struct execution_body *b = xcalloc(1, sizeof(*b));
	auto_execution_started struct execution_started s = { 0 };
	struct session_options place;
	struct execution_options o;
	char hash[TOKEN_HASH_HEX_MAX];
	int64_t until_ms;
	int status;

	if (ctl == NULL || run_body_read(c, b, &json, e) < 0 ||
	    execution_read_wait(c, &until_ms, e) < 0)
		return -1;
	request_hash(c, json, hash);
	if (execution_read_command(c, b, e) < 0)
		return -1;
	work = execution_body_work(b);
	shown = execution_body_shown(b);
	o = options_of(b, work, shown, hash);
	place = session_of(c, b);
	if (execution_start(ctl, &app_of(c)->who, &o, &place, &s, e) < 0)
		return -1;
	status = s.made ? 202 : 200;
	/* a client that does not wait gets its answer before the start */
	if (until_ms == 0 && s.made) {
		if (reply_execution(c, status, s.id, e) < 0)
			return -1;
		call_end(c);
	}
	execution_start_act(ctl, &s, app_deadline(c, START_MS), until_ms);
	if (c->status != 0)
		return 0;
	if (until_ms > 0 && !s.rest.over &&
	    pull_checked(c, ctl, s.id, until_ms, e) < 0)
		return -1;
	return reply_and_clean(c, ctl, status, s.id, &s.rest, e);
}

int
v1_execution_get(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	const struct execution_rest none = { 0 };
	auto_rows struct rows *r = NULL;
	int64_t until_ms;

	if (ctl == NULL || execution_read_own(c, id, &r, e) < 0 ||
	    execution_read_wait(c, &until_ms, e) < 0)
		return -1;
	if (!rows_bool(r, 0, "over"))
		pull(c, ctl, id, until_ms);
	/* the key may have been revoked during the wait */
	if (until_ms > 0 && access_check(c, ACCESS_READ, e) < 0)
		return -1;
	/* the call that has recorded its end has cleaned up */
	return rows_bool(r, 0, "over")
	    ? reply_execution(c, 200, id, e)
	    : reply_and_clean(c, ctl, 200, id, &none, e);
}

int
v1_execution_cancel(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "execution");
	auto_rows struct rows *r = NULL;
	const struct execution_rest none = { 0 };
	struct err ignored = { 0 };

	if (ctl == NULL || execution_read_own(c, id, &r, e) < 0)
		return -1;
	/* the row says that it is cancelled: the reaper carries it out */
	if (execution_cancel(ctl, id, &ignored) < 0)
		log_err(LOG_INFO, "execution_cancel", &ignored);
	return reply_and_clean(c, ctl, 0, id, &none, e);
}

int
v1_execution_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	const char *session = call_var(c, "id");
	char state[STATE_MAX], type[AGENT_TYPE_MAX];
	struct session_row s;
	struct page p;
	bool ignored;

	if (ctl == NULL || page_read(c, &p, e) < 0 ||
	    call_query_word(c, "state", EXECUTION_STATES, state, sizeof(state),
		e) < 0 ||
	    call_query(c, "agentType", type, sizeof(type), &ignored, e) < 0)
		return -1;
	if (session[0] != '\0' &&
	    control_session(ctl, session, app_of(c)->who.tenant, &s, e) < 0)
		return -1;
	if (STORE_RUN(ctl->store, STMT_EXECUTION_LIST, &r, e,
		app_of(c)->who.tenant, session, state, type, p.at, p.id,
		p.ask) < 0)
		return -1;
	return reply_page(c, "executions", &p, r, e);
}
