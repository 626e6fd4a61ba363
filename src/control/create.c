/*
 * create.c: registers a session and starts it for the first time.
 *
 * A create that fails leaves nothing behind that its client did not ask for.  A
 * session without a name is deleted.  One with a name stays, and the next
 * create of that name replaces it.
 */
#include "control/create.h"

#include <stdio.h>
#include <string.h>

#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/finish.h"
#include "control/launch.h"
#include "control/network_control.h"
#include "control/session_control.h"
#include "control/snapshot_control.h"
#include "control/start.h"
#include "control/stop.h"
#include "control/warm.h"

enum { TRIES = 3 };

static json_t *
text_or_null(const char *s)
{
	return str_empty(s) ? json_null() : json_string(s);
}

/*
 * Whether the session gets a sandbox of its own.  A request may ask for one,
 * but may not refuse one that the org or the list per_session_orgs asks for.
 */
static bool
is_isolated(const struct control *ctl, const struct principal *who,
    const struct session_options *w)
{
	if (w->isolation == ISOLATION_SESSION)
		return true;
	if (!str_equal(who->isolation, "inherit"))
		return str_equal(who->isolation, "session");
	return sandbox_id_isolated_by_list(ctl->conf->per_session_orgs,
	    who->org);
}

struct placement {
	char sandbox[SANDBOX_ID_MAX];
	const char *class_name;
	bool isolated;
};

static void
choose_sandbox(const struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *id, struct placement *p)
{
	const struct sandbox_owner o = { .org = who->org,
		.user = who->user,
		.bot = who->bot,
		.salt = who->salt,
		.session = id };

	p->isolated = is_isolated(ctl, who, w);
	if (!p->isolated)
		p->class_name = "shared";
	else
		p->class_name =
		    str_empty(w->class_name) ? "small" : w->class_name;
	sandbox_id_derive(&o, p->isolated, p->sandbox);
}

static void
add_setup(struct control *ctl, const struct session_options *w, const char *id,
    json_t *spec)
{
	auto_json json_t *setup = NULL;

	if (str_empty(w->setup))
		return;
	setup = json_pack("{s:s}", "command", w->setup);
	json_object_set_new(spec, "setup",
	    control_seal(ctl, id, "setup", setup));
	json_object_set_new(spec, "setupSeconds",
	    json_integer(ctl->conf->setup_timeout_seconds));
}

/*
 * A hash by which a secret text is compared.  It covers the tenant, so that the
 * same text of another tenant has another hash.
 */
static json_t *
hash_secret(const struct principal *who, const char *what, const char *text)
{
	auto_free char *all = xasprintf("%s\n%s\n%s", who->tenant, what, text);
	char hash[TOKEN_HASH_HEX_MAX];

	token_hash(all, hash);
	return json_string(hash);
}

/*
 * Adds the fields that can be given only once, for session_compare() in SQL.
 * "madeWith" has all of them.  "kept" has only those that this create gives; a
 * session that the create finds must agree with them.
 */
static void
add_comparison(const struct principal *who, const struct session_options *w,
    const struct placement *p, json_t *spec)
{
	auto_free char *files = json_array_size(w->files) > 0
	    ? json_dumps(w->files, JSON_COMPACT | JSON_SORT_KEYS)
	    : NULL;
	auto_free char *limits = w->limits != NULL
	    ? json_dumps(w->limits, JSON_COMPACT | JSON_SORT_KEYS)
	    : NULL;
	json_t *made = json_pack("{s:o, s:o, s:o, s:o}", "files",
	    files != NULL ? hash_secret(who, "files", files) : json_null(),
	    "limits", text_or_null(limits), "setup",
	    str_empty(w->setup) ? json_null()
				: hash_secret(who, "setup", w->setup),
	    "snapshot", text_or_null(w->snapshot));
	json_t *kept = json_object(), *v;
	const char *key;

	json_object_foreach(made, key, v)
	{
		if (!json_is_null(v))
			json_object_set(kept, key, v);
	}
	if (!str_empty(w->agent_type))
		json_object_set_new(kept, "agentType",
		    json_string(w->agent_type));
	/* then they are those of the execution, not only of the session */
	if (w->for_execution) {
		json_object_del(kept, "agentType");
		json_object_del(kept, "limits");
	}
	if (!str_empty(w->base_url))
		json_object_set_new(kept, "baseUrl", json_string(w->base_url));
	if (!str_empty(w->class_name))
		json_object_set_new(kept, "class", json_string(p->class_name));
	/* `shared` is not compared where the org overrules it */
	if (w->isolation == ISOLATION_SESSION ||
	    (w->isolation == ISOLATION_SHARED && !p->isolated))
		json_object_set_new(kept, "isolation",
		    json_string(ISOLATION_NAMES[w->isolation]));
	json_object_set_new(spec, "madeWith", made);
	json_object_set_new(spec, "kept", kept);
}

static void
add_options(const struct session_options *w, json_t *spec)
{
	if (w->max_run_seconds > 0)
		json_object_set_new(spec, "maxRunSeconds",
		    json_integer(w->max_run_seconds));
	if (w->concurrency > 0)
		json_object_set_new(spec, "concurrency",
		    json_integer(w->concurrency));
	json_object_set_new(spec, "suspend", json_boolean(w->suspend));
	json_object_set_new(spec, "start", json_boolean(!w->no_start));
	json_object_set_new(spec, "told", json_boolean(w->told));
	if (!str_empty(w->snapshot))
		json_object_set_new(spec, "snapshot", json_string(w->snapshot));
	json_object_set_new(spec, "snapshotFallback",
	    json_boolean(w->snapshot_fallback));
	if (w->labels != NULL)
		json_object_set_new(spec, "labels", json_deep_copy(w->labels));
	if (w->correlation_keys != NULL)
		json_object_set_new(spec, "correlationKeys",
		    json_deep_copy(w->correlation_keys));
}

/* Whether a sandbox of the warm pool would do. */
static bool
may_be_warm(const struct control *ctl, const struct session_options *w,
    const struct placement *p)
{
	return ctl->conf->warm_sandboxes != 0 && p->isolated && !w->no_start &&
	    str_empty(w->snapshot);
}

/* Whether the spec has secrets that are sealed for one session's id. */
static bool
seals_something(const struct session_options *w)
{
	return w->env != NULL || w->files != NULL || w->secrets != NULL ||
	    !str_empty(w->setup);
}

/* Has the create claim a warm sandbox; `picked`: that of the spec's id. */
static void
add_warm(struct control *ctl, const struct placement *p, bool picked,
    json_t *spec)
{
	char shape[WARM_SHAPE_MAX], claim[ID_MAX];

	warm_shape(ctl, p->class_name, shape);
	id_random(claim, ID_INSTANCE_LEN);
	json_object_set_new(spec, "warm", json_string(shape));
	json_object_set_new(spec, "adoption", json_string(claim));
	/* an older program would leave it those of its class */
	json_object_set_new(spec, "setsLimits", json_true());
	if (picked)
		json_object_set_new(spec, "picked", json_true());
}

static json_t *
create_spec(struct control *ctl, const struct principal *who,
    const struct session_options *w, const struct placement *p, const char *id)
{
	json_t *spec = start_intent(ctl);

	json_object_update_new(spec,
	    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", id,
		"tenant", who->tenant, "org", who->org, "user", who->user,
		"bot", who->bot, "keyId", who->key_id, "sandbox", p->sandbox,
		"class", p->class_name, "isolation",
		ISOLATION_NAMES[p->isolated ? ISOLATION_SESSION
					    : ISOLATION_SHARED]));
	json_object_update_new(spec,
	    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:b}",
		"name", text_or_null(w->name), "agentType",
		text_or_null(w->agent_type), "baseUrl",
		text_or_null(w->base_url), "expiresAt",
		text_or_null(w->expires_at), "idempotencyKey",
		text_or_null(w->idempotency_key), "requestHash",
		text_or_null(w->request_hash), "env",
		control_seal(ctl, id, "env", w->env), "files",
		control_seal(ctl, id, "files", w->files), "sleepAfterSeconds",
		(json_int_t)w->sleep_after_seconds, "keepAlive", w->keep_alive,
		"wakeOnPreview", w->wake_on_preview));
	json_object_set_new(spec, "diskBudgetMb",
	    json_integer(ctl->conf->disk_budget_mb));
	if (p->isolated && !w->told && !w->for_execution && ctl->answer == NULL)
		json_object_set_new(spec, "lazy", json_true());
	add_options(w, spec);
	if (w->network != NULL)
		json_object_set_new(spec, "network",
		    json_deep_copy(w->network));
	if (w->limits != NULL)
		json_object_set_new(spec, "limits", json_deep_copy(w->limits));
	if (w->secrets != NULL)
		control_add_secrets(ctl, id, w->secrets, spec);
	add_setup(ctl, w, id, spec);
	add_comparison(who, w, p, spec);
	return spec;
}

enum disposition
create_disposition(const char *word)
{
	static const struct {
		const char *word;
		enum disposition how;
	} WORDS[] = {
		{ "created", SESSION_CREATED },
		{ "registered", SESSION_REGISTERED },
		{ "found", SESSION_FOUND },
		{ "replayed_found", SESSION_REPLAYED_FOUND },
		{ "failed", SESSION_FAILED_BEFORE },
	};

	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		if (str_equal(WORDS[i].word, word))
			return WORDS[i].how;
	return SESSION_REPLAYED;
}

/*
 * After an undecided start the client gets the session's id: marks the session
 * as `told`, so that it is not deleted as a failed create later.  Always -1.
 */
static int
keep_undecided(struct control *ctl, const char *id, const struct err *e)
{
	struct err why = { 0 };

	if (start_undecided(e) &&
	    STORE_RUN(ctl->store, STMT_SESSION_TOLD, NULL, &why, id) < 0)
		log_err(LOG_WARN, "session_told", &why);
	return -1;
}

/*
 * Frees the idempotency key: a repeated request must be a new try, no replay.
 */
static void
forget_key(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *id)
{
	struct err e = { 0 };

	if (!str_empty(w->idempotency_key) &&
	    STORE_RUN(ctl->store, STMT_IDEMPOTENCY_FORGET, NULL, &e,
		who->tenant, who->user, w->idempotency_key, id) < 0)
		log_err(LOG_WARN, "idempotency_forget", &e);
}

static bool
is_nameless(const struct session_options *w)
{
	return str_empty(w->name) && w->correlation_keys == NULL;
}

/*
 * Deletes a session that failed and that no client can name.  True: another
 * process has started it meanwhile, and it is ready.
 */
static bool
delete_failed_create(struct control *ctl, const char *id)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = control_spec_text(
	    json_pack("{s:s, s:s, s:s*}", "reason", "startup-failed", "trace",
		ctl->trace, "actor", control_actor(ctl)));
	struct err e = { 0 };
	bool gone;

	CRASH_POINT("create.failed");
	if (STORE_RUN(ctl->store, STMT_SESSION_TAKE_BACK, &r, &e, id, spec) <
	    0) {
		log_err(LOG_WARN, "start_cleanup", &e);
		return false; /* the reaper deletes it */
	}
	if (state_session_parse(rows_text(r, 0, "state")) == SESSION_READY)
		return true;
	if (str_empty(rows_text(r, 0, "state")))
		return false; /* a client got its id meanwhile */
	CRASH_POINT("create.taken_back");
	if (stop_attempt(ctl, id, &e) < 0 ||
	    finish_delete(ctl, id, &gone, &e) < 0)
		log_err(LOG_WARN, "start_cleanup", &e);
	return false;
}

/*
 * Cleans up after a failed start.  A setup that failed will fail again, so its
 * session and idempotency key stay and show the reason.  After any other
 * failure the same request may succeed the next time.  -1, unless another
 * process has made the session ready.
 */
static int
clean_up_failed_start(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *id, struct err *e)
{
	if (start_undecided(e)) {
		if (start_must_wait(e))
			forget_key(ctl, who, w, id);
		return keep_undecided(ctl, id, e);
	}
	if (start_setup_failed(e))
		return -1;
	if (!is_nameless(w)) {
		forget_key(ctl, who, w, id);
		return -1;
	}
	if (!delete_failed_create(ctl, id))
		return -1;
	*e = (struct err){ 0 };
	return 0;
}

/*
 * Refuses an unknown class and names the known ones, if the database answers.
 */
static void
refuse_class(struct control *ctl, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_buf struct buf known = { 0 };
	struct err ignored = { 0 };

	if (STORE_RUN(ctl->store, STMT_CLASSES_KNOWN, &r, &ignored) == 0)
		for (size_t i = 0; i < rows_count(r); i++)
			buf_fmt(&known, "%s%s", i > 0 ? ", " : "; there are ",
			    rows_text(r, i, "name"));
	err_field(e, "class", "there is no class of that name%.200s",
	    known.len > 0 ? known.data : "");
}

/*
 * Refuses files outside the writable directories unless the class has a
 * writable root.
 */
static int
check_files(struct control *ctl, const struct session_options *w,
    const char *class_name, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char field[ERR_FIELD_MAX];

	if (w->files_in_root == 0)
		return 0;
	if (STORE_RUN(ctl->store, STMT_CLASS_WRITABLE_ROOT, &r, e, class_name) <
	    0)
		return -1;
	if (rows_count(r) == 0 || rows_bool(r, 0, "writable_root"))
		return 0; /* register_session() refuses an unknown class */
	snprintf(field, sizeof(field), "files[%lld].path",
	    (long long)w->files_in_root - 1);
	return err_field(e, field,
	    "is read-only; /workspace, /home/user and /tmp are not");
}

/*
 * Chooses the session's id.  A spec with secrets that are sealed for it must
 * name the member of the warm pool that it claims (*picked).
 */
static int
choose_id(struct control *ctl, const struct session_options *w,
    const struct placement *p, char id[ID_MAX], bool *picked, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char shape[WARM_SHAPE_MAX];

	*picked = false;
	if (!may_be_warm(ctl, w, p) || !seals_something(w))
		return 0;
	warm_shape(ctl, p->class_name, shape);
	if (STORE_RUN(ctl->store, STMT_WARM_PICK, &r, e, ctl->conf->host_name,
		ctl->provider.boot_id, p->class_name, shape) < 0)
		return -1;
	*picked = !str_empty(rows_text(r, 0, "session_id"));
	if (*picked)
		str_copy(id, ID_MAX, rows_text(r, 0, "session_id"));
	return 0;
}

/*
 * Writes the intent, in one statement; `execution` as in create_register().
 * `warm`: a sandbox of the warm pool may be claimed.  *alone: as in
 * launch_act().
 */
static int
register_once(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *execution, bool warm,
    struct rows **plan, bool *alone, struct err *e)
{
	auto_free char *text = NULL;
	struct placement p = { 0 };
	char id[ID_MAX];
	bool picked = false;
	json_t *spec;
	int rc;

	id_random(id, ID_SESSION_LEN);
	choose_sandbox(ctl, who, w, id, &p);
	*alone = p.isolated && is_nameless(w) && str_empty(w->idempotency_key);
	warm = warm && may_be_warm(ctl, w, &p);
	if (check_files(ctl, w, p.class_name, e) < 0 ||
	    (warm && choose_id(ctl, w, &p, id, &picked, e) < 0))
		return -1;
	choose_sandbox(ctl, who, w, id, &p);
	spec = create_spec(ctl, who, w, &p, id);
	ctl->pool_asked = ctl->pool_asked || warm;
	if (warm && picked == seals_something(w))
		add_warm(ctl, &p, picked, spec);
	text = control_spec_text(spec);
	if (execution == NULL)
		rc = STORE_RUN(ctl->store, STMT_SESSION_CREATE, plan, e, text);
	else
		rc = STORE_RUN(ctl->store, STMT_EXECUTION_START, plan, e, text,
		    execution);
	if (rc == 0) {
		CRASH_POINT("create.intent");
		return 0;
	}
	start_refused(ctl, id, warm, e);
	return -1;
}

static int
register_session(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *execution, struct rows **plan,
    bool *alone, struct err *e)
{
	if (register_once(ctl, who, w, execution, true, plan, alone, e) == 0)
		return 0;
	if (e->code == CODE_SANDBOX_TAKEN) {
		*e = (struct err){ 0 };
		if (register_once(ctl, who, w, execution, false, plan, alone,
			e) == 0)
			return 0;
	}
	if (e->code == CODE_UNKNOWN_CLASS)
		refuse_class(ctl, e);
	if (e->code == CODE_LIMIT_TOO_HIGH)
		(void)control_limit_refused(e);
	if (e->code == CODE_SNAPSHOT_NOT_FOUND)
		err_field(e, "snapshot",
		    "there is no snapshot of that id; GET /v1/snapshots lists them");
	return network_refused(e);
}

/* A session of that name whose first start failed is deleted, so that the body
 * of this create counts. */
int
create_register(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *execution, struct rows **plan,
    bool *alone, struct err *e)
{
	for (int i = 0; i < TRIES; i++) {
		auto_rows struct rows *r = NULL;
		bool gone;

		if (register_session(ctl, who, w, execution, &r, alone, e) < 0)
			return -1;
		if (create_disposition(rows_text(r, 0, "disposition")) !=
		    SESSION_FAILED_BEFORE) {
			*plan = TAKE(r);
			return 0;
		}
		if (session_control_delete(ctl, rows_text(r, 0, "session_id"),
			who->tenant, &gone, e) < 0)
			return -1;
		CRASH_POINT("create.replaced");
	}
	return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
	    "other requests create this name and fail at the same time; try again");
}

/*
 * Applies the changes of this create to a session that was found, as by PATCH.
 */
static int
patch_found(struct control *ctl, const struct principal *who,
    const struct session_options *w, const char *id, struct err *e)
{
	if (json_object_size(w->changes) == 0 && w->env == NULL &&
	    w->secrets == NULL)
		return 0;
	return session_control_patch(ctl, id, who->tenant, w->changes, w->env,
	    w->secrets, e);
}

int
session_control_create(struct control *ctl, const struct principal *who,
    const struct session_options *w, int64_t deadline_ms, char id[ID_MAX],
    enum disposition *how, struct err *e)
{
	auto_rows struct rows *plan = NULL;
	bool alone;

	id[0] = '\0';
	/* before a session is registered that could not be started */
	if (control_ready(ctl, e) < 0)
		return -1;
	if (!str_empty(w->snapshot) && id_is_session(w->snapshot) &&
	    snapshot_verify(ctl, who->tenant, w->snapshot, e) < 0)
		return -1;
	if (create_register(ctl, who, w, NULL, &plan, &alone, e) < 0)
		return -1;
	str_copy(id, ID_MAX, rows_text(plan, 0, "session_id"));
	*how = create_disposition(rows_text(plan, 0, "disposition"));
	if (*how == SESSION_REPLAYED || *how == SESSION_REPLAYED_FOUND ||
	    *how == SESSION_REGISTERED)
		return 0; /* the session is shown as it is: never a second start */
	if (*how == SESSION_FOUND && patch_found(ctl, who, w, id, e) < 0) {
		forget_key(ctl, who, w, id);
		*how = SESSION_UNCHANGED;
		return -1;
	}
	if (*how == SESSION_FOUND && w->no_start)
		return 0;
	if (*how == SESSION_CREATED) {
		if (launch_act(ctl, plan, alone, deadline_ms, e) == 0)
			return 0;
		if (!start_worth_retry(e))
			return clean_up_failed_start(ctl, who, w, id, e);
		if (start_finish(ctl, id, who->tenant, deadline_ms, e) == 0)
			return 0;
		/* the client that put it to sleep knows it: keep it */
		return e->code == CODE_START_STOPPED
		    ? -1
		    : clean_up_failed_start(ctl, who, w, id, e);
	}
	if (start_session(ctl, id, who->tenant, deadline_ms, e) == 0)
		return 0;
	return clean_up_failed_start(ctl, who, w, id, e);
}
