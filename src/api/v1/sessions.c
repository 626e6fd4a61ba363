/* sessions.c: serves the routes that create, change and delete sessions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/org_share.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "api/v1/session_json.h"
#include "api/v1/session_problem.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/session_control.h"
#include "control/start.h"
#include "domain/state.h"

enum {
	AGENT_LOG_MAX = 64 * 1024,
	EXTEND_DEFAULT_S = 600,
	GO_ON_MS = 10000 /* for a start after its client has the answer */
};

static int
reply_session(struct call *c, struct control *ctl, const char *id, int done,
    int pending, struct err *e)
{
	auto_json json_t *s = NULL;

	if (session_json_read(c, ctl, id, &s, e) < 0)
		return -1;
	call_reply(c,
	    state_session_moves(state_session_parse(json_str(s, "state")))
		? pending
		: done,
	    s);
	return 0;
}

static int
check_idempotency_key(const char *key, struct err *e)
{
	for (const char *s = key; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
			return err_field(e, "Idempotency-Key",
			    "must be printable");
	if (strlen(key) > 255)
		return err_field(e, "Idempotency-Key",
		    "must have 1 to 255 characters");
	return 0;
}

/* baseUrl can be set only once: a session that was found must have the same. */
static int
check_base_url_kept(struct call *c, const char *id, const char *wanted,
    struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;
	const char *has;

	if (wanted[0] == '\0')
		return 0;
	if (STORE_RUN(app->store, STMT_SESSION_ENV, &r, e, id,
		app->who.tenant) < 0)
		return -1;
	has = rows_count(r) > 0 ? rows_text(r, 0, "base_url") : "";
	if (has[0] == '\0' || str_equal(has, wanted))
		return 0;
	return err_set(e, ERR_CONFLICT, CODE_BASE_URL_ALREADY_SET,
	    "baseUrl is set once, to %s", has);
}

/*
 * Whether a start continues after this call, so that the answer may be 202.  A
 * start that must wait for a stop does not: no process continues it, and the
 * client gets the error instead.
 */
static bool
start_continues(const struct err *e)
{
	return start_undecided(e) && !start_must_wait(e);
}

/* ---- a client that does not wait (?wait=0) */

struct unwaited {
	struct call *call;
	struct control *ctl;
};

/* Answers before the start; if that fails, the handler answers after it. */
static void
answer_now(void *ctx, const char *session)
{
	struct unwaited *u = ctx;
	struct err e = { 0 };

	if (reply_session(u->call, u->ctl, session, 201, 202, &e) == 0)
		call_end(u->call);
	else
		log_err(LOG_WARN, "answer_now", &e);
}

/*
 * For ?wait=0, arranges that the client gets its answer before the start.  The
 * worker then continues the start itself.  The process of starts.c would have
 * to begin another generation.
 */
static bool
arrange_early_answer(struct unwaited *u, int64_t deadline_ms)
{
	if (clock_left_ms(deadline_ms) > 0)
		return false;
	u->ctl->answer = answer_now;
	u->ctl->answer_ctx = u;
	u->ctl->go_on_ms = app_deadline(u->call, GO_ON_MS);
	return true;
}

/* The next request uses the same struct control: reset it. */
static void
end_unwaited(struct unwaited *u)
{
	u->ctl->answer = NULL;
	u->ctl->go_on_ms = 0;
	u->ctl->try_setup = false;
}

/* Answers a create that has not failed. */
static int
reply_created(struct call *c, struct control *ctl, const char *id,
    enum disposition how, struct err *e)
{
	bool found = how == SESSION_FOUND || how == SESSION_REPLAYED_FOUND;
	auto_json json_t *s = NULL;
	int done = found ? 200 : 201;
	bool told = false;

	if (how != SESSION_REPLAYED && how != SESSION_REPLAYED_FOUND)
		return reply_session(c, ctl, id, done, 202, e);
	call_header(c, "Idempotency-Replayed", "true");
	if (session_json_read(c, ctl, id, &s, e) < 0 ||
	    session_problem_replayed(c, ctl, s, &told, e) < 0)
		return -1;
	return told ? 0 : reply_session(c, ctl, id, done, 202, e);
}

static struct session_options
options_of(const struct create_body *b, const json_t *changes, const char *key,
    const char *hash)
{
	return (struct session_options){ .name = b->name,
		.class_name = b->class_name,
		.agent_type = b->agent_type,
		.base_url = b->base_url,
		.expires_at = b->expires_at,
		.idempotency_key = key,
		.request_hash = key[0] != '\0' ? hash : NULL,
		.setup = b->setup,
		.snapshot = b->snapshot,
		.changes = changes,
		.labels = b->labels,
		.env = b->env,
		.files = b->files,
		.files_in_root = b->files_in_root,
		.correlation_keys = b->correlation_keys,
		.network = b->network,
		.secrets = b->secrets,
		.limits = b->limits,
		.isolation = b->isolation,
		.sleep_after_seconds = b->sleep_after_seconds,
		.max_run_seconds = b->max_run_seconds,
		.concurrency = b->concurrency,
		.suspend = b->suspend == 1,
		.keep_alive = b->keep_alive == 1,
		.wake_on_preview = b->wake_on_preview == 1,
		.no_start = b->start == 0,
		.snapshot_fallback = b->snapshot_fallback == 1 };
}

int
v1_session_create(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *changes = NULL;
	struct create_body b;
	char id[ID_MAX], hash[TOKEN_HASH_HEX_MAX];
	const char *key = call_param(c, "HTTP_IDEMPOTENCY_KEY");
	enum disposition how = SESSION_CREATED;
	struct unwaited u = { c, ctl };
	int64_t deadline;
	struct session_options options;
	int rc;

	if (ctl == NULL || check_idempotency_key(key, e) < 0 ||
	    wait_deadline(c, &deadline, e) < 0 ||
	    create_body_read(c, &b, &json, e) < 0)
		return -1;
	request_hash(c, json, hash);
	changes = create_changes(&b);
	options = options_of(&b, changes, key, hash);
	options.told = arrange_early_answer(&u, deadline);
	ctl->show = true;
	rc = session_control_create(ctl, &app->who, &options, deadline, id,
	    &how, e);
	end_unwaited(&u);
	if (c->status != 0)
		return 0; /* answered before the start; GET shows the outcome */
	if (rc < 0 && id[0] == '\0')
		return -1;
	/* see `lazy` of session_new() in SQL */
	if (rc < 0 && how == SESSION_CREATED &&
	    e->code == CODE_SESSION_NOT_FOUND)
		return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
		    "the database was restarted and has lost the new session; try again");
	/* an undecided start has not failed: 202; the next call continues it */
	if (rc < 0 && (how == SESSION_UNCHANGED || !start_continues(e)))
		return session_problem(c, ctl, id, e);
	if (rc < 0)
		log_err(LOG_INFO, "start_goes_on", e);
	/* another create may have set baseUrl after this one compared it */
	if (how == SESSION_FOUND &&
	    check_base_url_kept(c, id, b.base_url, e) < 0)
		return session_problem(c, ctl, id, e);
	return reply_created(c, ctl, id, how, e);
}

int
v1_session_get(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id"), *tenant = app->who.tenant;
	auto_json json_t *s = NULL;
	struct session_row row;

	if (ctl == NULL || control_session(ctl, id, tenant, &row, e) < 0)
		return -1;
	/* a GET continues a start that has lost its worker or its sandbox */
	if ((row.state == SESSION_INITIALIZING || row.cut_short) &&
	    control_is_here(ctl, &row) &&
	    org_share_wait(app->share, app->worker, tenant, SHARE_ANSWER))
		start_move_on(ctl, id, tenant);
	if (session_json_read(c, ctl, id, &s, e) < 0)
		return -1;
	call_reply(c, 200, s);
	return 0;
}

/*
 * Refuses changes to a session that is deleted or being deleted.  `here`: also
 * if the session is on another host, because only that host can tell the
 * wrapper.
 */
static int
must_live(struct call *c, struct control *ctl, const char *id, bool here,
    struct err *e)
{
	struct session_row row;

	if (control_session(ctl, id, app_of(c)->who.tenant, &row, e) < 0 ||
	    control_must_live(row.state, e) < 0)
		return -1;
	return here ? control_must_be_here(ctl, &row, e) : 0;
}

int
v1_session_patch(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id"), *tenant = app_of(c)->who.tenant;
	auto_json json_t *json = NULL, *changes = NULL;
	struct patch_body b;

	if (ctl == NULL || patch_body_read(c, &b, &json, e) < 0 ||
	    must_live(c, ctl, id, b.env != NULL, e) < 0 ||
	    check_base_url_kept(c, id, b.base_url, e) < 0)
		return -1;
	changes = patch_spec(&b);
	if (session_control_patch(ctl, id, tenant, changes, b.env, b.secrets,
		e) < 0)
		return -1;
	return reply_session(c, ctl, id, 200, 200, e);
}

int
v1_session_delete(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id");
	bool gone;

	if (ctl == NULL ||
	    session_control_delete(ctl, id, app_of(c)->who.tenant, &gone, e) <
		0)
		return -1;
	return reply_session(c, ctl, id, 200, 202, e);
}

/* Whether the start was not even begun: then no process will continue it. */
static bool
is_still_asleep(struct control *ctl, const char *id, const char *tenant)
{
	struct session_row row;
	struct err ignored = { 0 };

	return control_session(ctl, id, tenant, &row, &ignored) == 0 &&
	    row.state == SESSION_ASLEEP;
}

int
v1_session_resume(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id"), *tenant = app_of(c)->who.tenant;
	struct unwaited u = { c, ctl };
	int64_t deadline;
	int rc;

	if (ctl == NULL || wait_deadline(c, &deadline, e) < 0)
		return -1;
	(void)arrange_early_answer(&u, deadline);
	rc = start_session(ctl, id, tenant, deadline, e);
	end_unwaited(&u);
	if (c->status != 0)
		return 0;
	if (rc < 0 && (!start_continues(e) || is_still_asleep(ctl, id, tenant)))
		return session_problem(c, ctl, id, e);
	return reply_session(c, ctl, id, 200, 202, e);
}

/*
 * Answers 202 only while a stop is in progress.  A session that was asleep may
 * have been resumed since; then nothing of the sleep is still to be done.
 */
static int
reply_sleep(struct call *c, struct control *ctl, const char *id, struct err *e)
{
	auto_json json_t *s = NULL;
	const json_t *stop;
	bool sleeps;

	if (session_json_read(c, ctl, id, &s, e) < 0)
		return -1;
	stop = json_object_get(json_object_get(s, "lease"), "stop");
	sleeps = state_session_parse(json_str(s, "state")) == SESSION_SLEEPING;
	call_reply(c, sleeps || json_is_object(stop) ? 202 : 200, s);
	return 0;
}

int
v1_session_sleep(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id");
	auto_json json_t *json = NULL;
	struct sleep_body b = { .suspend = -1 };

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, SLEEP_FIELDS, SLEEP_FIELD_COUNT, 0, &b, e) <
		0 ||
	    session_control_sleep(ctl, id, app_of(c)->who.tenant,
		"user-interrupt", b.suspend, e) < 0)
		return -1;
	return reply_sleep(c, ctl, id, e);
}

int
v1_session_extend(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id");
	auto_json json_t *json = NULL;
	auto_rows struct rows *r = NULL;
	struct extend_body b = { .seconds = EXTEND_DEFAULT_S };
	char seconds[24];

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, EXTEND_FIELDS, EXTEND_FIELD_COUNT, 0, &b, e) <
		0 ||
	    must_live(c, ctl, id, false, e) < 0)
		return -1;
	snprintf(seconds, sizeof(seconds), "%lld", (long long)b.seconds);
	if (STORE_RUN(ctl->store, STMT_SESSION_EXTEND, &r, e, id,
		app_of(c)->who.tenant, seconds) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_CONFLICT, CODE_SESSION_NOT_READY,
		    "only a session that is ready can be kept awake; resume it first");
	return reply_session(c, ctl, id, 200, 200, e);
}

/* Drops lines that name files of this host: bubblewrap logs such lines. */
static void
add_public_lines(char *log, struct buf *out)
{
	char *line;

	while ((line = strsep(&log, "\n")) != NULL)
		if (!err_names_host(line))
			buf_fmt(out, "%s%s", line, log != NULL ? "\n" : "");
}

int
v1_session_agent_log(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_buf struct buf log = { 0 };
	auto_buf struct buf told = { 0 };

	if (ctl == NULL ||
	    session_control_agent_log(ctl, call_var(c, "id"),
		app_of(c)->who.tenant, AGENT_LOG_MAX, &log, e) < 0)
		return -1;
	if (log.len > 0)
		add_public_lines(log.data, &told);
	call_reply_bytes(c, 200, "text/plain; charset=utf-8",
	    told.len > 0 ? told.data : "", told.len);
	return 0;
}
