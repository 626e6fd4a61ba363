/* session_control.c: the use cases of a session. */
#include "control/session_control.h"

#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/awake.h"
#include "control/finish.h"
#include "control/start.h"
#include "control/stop.h"
#include "control/suspend.h"
#include "domain/state.h"

enum {
	ASK_MS = 500,
	FROZEN_MS = 50,
	ENV_BYTES_MAX = 48 * 1024,
	ENV_COUNT_MAX = 256,
	ENV_TRIES = 50 /* each lost one is somebody else's that succeeded */
};

static json_t *
sealed(struct control *ctl, const char *id, const char *what, const json_t *v)
{
	auto_free char *owner = xasprintf("%s:%s", id, what);
	auto_buf struct buf out = { 0 };
	auto_free char *text = NULL;

	if (v == NULL)
		return json_null();
	text = json_text(v);
	seal(&ctl->keys, owner, text, strlen(text), &out);
	return json_string(out.data);
}

static json_t *
text_or_null(const char *s)
{
	return str_empty(s) ? json_null() : json_string(s);
}

/*
 * A request may ask for a sandbox of its own, but not leave what
 * the org or the list ask for.
 */
static bool
is_isolated(const struct control *ctl, const struct principal *who,
    const struct session_wish *w)
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
place(const struct control *ctl, const struct principal *who,
    const struct session_wish *w, const char *id, struct placement *p)
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
add_setup(struct control *ctl, const struct session_wish *w, const char *id,
    json_t *spec)
{
	auto_json json_t *setup = NULL;

	if (str_empty(w->setup))
		return;
	setup = json_pack("{s:s}", "command", w->setup);
	json_object_set_new(spec, "setup", sealed(ctl, id, "setup", setup));
	json_object_set_new(spec, "setupSeconds",
	    json_integer(ctl->conf->setup_timeout_seconds));
}

static char *
create_spec(struct control *ctl, const struct principal *who,
    const struct session_wish *w, const struct placement *p, const char *id)
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
		sealed(ctl, id, "env", w->env), "files",
		sealed(ctl, id, "files", w->files), "sleepAfterSeconds",
		(json_int_t)w->sleep_after_seconds, "keepAlive", w->keep_alive,
		"wakeOnPreview", w->wake_on_preview));
	json_object_set_new(spec, "diskBudgetMb",
	    json_integer(ctl->conf->disk_budget_mb));
	if (w->max_run_seconds > 0)
		json_object_set_new(spec, "maxRunSeconds",
		    json_integer(w->max_run_seconds));
	json_object_set_new(spec, "suspend", json_boolean(w->suspend));
	add_setup(ctl, w, id, spec);
	if (!str_empty(w->snapshot))
		json_object_set_new(spec, "snapshot", json_string(w->snapshot));
	if (w->labels != NULL)
		json_object_set_new(spec, "labels", json_deep_copy(w->labels));
	if (w->correlation_keys != NULL)
		json_object_set_new(spec, "correlationKeys",
		    json_deep_copy(w->correlation_keys));
	return control_spec_text(spec);
}

static enum disposition
disposition_of(const char *word)
{
	if (str_equal(word, "created"))
		return SESSION_CREATED;
	return str_equal(word, "found") ? SESSION_FOUND : SESSION_REPLAYED;
}

/* What is not decided will be told of, and is not taken back any more. */
static int
announce(struct control *ctl, const char *id, const struct err *e)
{
	struct err why = { 0 };

	if (start_undecided(e) &&
	    STORE_RUN(ctl->store, STMT_SESSION_TOLD, NULL, &why, id) < 0)
		log_err(LOG_WARN, "session_told", &why);
	return -1;
}

/* Refused: the same request may be made again, and must not be a replay. */
static void
forget_key(struct control *ctl, const struct principal *who,
    const struct session_wish *w, const char *id)
{
	struct err e = { 0 };

	if (!str_empty(w->idempotency_key) &&
	    STORE_RUN(ctl->store, STMT_IDEMPOTENCY_FORGET, NULL, &e,
		who->tenant, who->user, w->idempotency_key, id) < 0)
		log_err(LOG_WARN, "idempotency_forget", &e);
}

/* Names the classes that there are; without a database, none. */
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

int
session_control_create(struct control *ctl, const struct principal *who,
    const struct session_wish *w, int64_t deadline_ms, char id[ID_MAX],
    enum disposition *how, struct err *e)
{
	auto_rows struct rows *plan = NULL;
	auto_free char *spec = NULL;
	struct placement p = { 0 };
	char fresh[ID_MAX];

	id_random(fresh, ID_SESSION_LEN);
	id[0] = '\0';
	place(ctl, who, w, fresh, &p);
	spec = create_spec(ctl, who, w, &p, fresh);
	if (STORE_RUN(ctl->store, STMT_SESSION_CREATE, &plan, e, spec) < 0) {
		start_refused(ctl, fresh, e);
		if (e->code == CODE_UNKNOWN_CLASS)
			refuse_class(ctl, e);
		if (e->code == CODE_SNAPSHOT_NOT_FOUND)
			err_field(e, "snapshot", "there is no such snapshot");
		return -1;
	}
	CRASH_POINT("create.intent");
	str_copy(id, ID_MAX, rows_text(plan, 0, "session_id"));
	*how = disposition_of(rows_text(plan, 0, "disposition"));
	if (*how == SESSION_REPLAYED)
		return 0; /* as it is now; never a second start */
	if (*how == SESSION_CREATED) {
		bool alone = p.isolated && str_empty(w->name) &&
		    w->correlation_keys == NULL &&
		    str_empty(w->idempotency_key);

		if (start_act(ctl, plan, alone, deadline_ms, e) == 0)
			return 0;
		if (!start_worth_retry(e))
			return announce(ctl, id, e);
	}
	if (start_session(ctl, id, who->tenant, deadline_ms, e) == 0)
		return 0;
	if (start_must_wait(e))
		forget_key(ctl, who, w, id);
	return announce(ctl, id, e);
}

int
session_control_sleep(struct control *ctl, const char *id, const char *tenant,
    const char *reason, struct err *e)
{
	return session_control_sleep_as(ctl, id, tenant, reason, -1, e);
}

int
session_control_sleep_as(struct control *ctl, const char *id,
    const char *tenant, const char *reason, int suspend, struct err *e)
{
	struct session_row s;
	bool freeze;

	if (control_session(ctl, id, tenant, &s, e) < 0 ||
	    control_must_live(s.state, e) < 0)
		return -1;
	freeze = suspend < 0 ? s.suspend : suspend > 0;
	/* one that is starting has nothing yet that were worth keeping */
	if (freeze && (s.suspended || s.state == SESSION_READY))
		return suspend_session(ctl, id, reason, -1, e);
	if (stop_request(ctl, id, STOP_SLEEP, reason, NULL, -1, e) < 0)
		return -1;
	CRASH_POINT("sleep.intent");
	return stop_attempt(ctl, id, e);
}

int
session_control_delete(struct control *ctl, const char *id, const char *tenant,
    bool *gone, struct err *e)
{
	struct session_row s;
	struct err why = { 0 };

	*gone = false;
	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (s.state == SESSION_DELETED) {
		*gone = true;
		return 0;
	}
	if (stop_request(ctl, id, STOP_DELETE, "session-delete", NULL, -1, e) <
	    0)
		return -1;
	CRASH_POINT("delete.intent");
	/* the wish is safe; the reaper of the sandbox's host finishes it */
	if (stop_attempt(ctl, id, &why) < 0 ||
	    (control_is_here(ctl, &s) &&
		finish_delete(ctl, id, gone, &why) < 0))
		log_err(LOG_WARN, "delete_goes_on", &why);
	return 0;
}

/* The env there is, with `patch` over it; a null value removes. */
static int
merge_env(struct control *ctl, const char *id, const char *old,
    const json_t *patch, json_t **out, struct err *e)
{
	const char *key;
	json_t *v;

	if (control_unseal(ctl, id, "env", old, out, e) < 0)
		return -1;
	if (*out == NULL)
		*out = json_object();
	json_object_foreach((json_t *)(uintptr_t)patch, key, v)
	{
		if (json_is_null(v))
			json_object_del(*out, key);
		else
			json_object_set(*out, key, v);
	}
	return 0;
}

/* For the event of a change: who, and the names of what is set or removed. */
static char *
change_spec(struct control *ctl, const json_t *env)
{
	json_t *names = json_array();
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)env, key, v)
	{
		json_array_append_new(names, json_string(key));
	}
	return control_spec_text(json_pack("{s:o, s:s, s:s*}", "env", names,
	    "trace", ctl->trace, "actor", control_actor(ctl)));
}

/* One try.  *done: nobody has changed it between the look and the write. */
static int
put_env(struct control *ctl, const char *id, const char *tenant,
    const json_t *env, bool *done, struct err *e)
{
	auto_rows struct rows *r = NULL, *written = NULL;
	auto_json json_t *merged = NULL, *box = NULL;
	auto_free char *text = NULL, *spec = NULL;
	const char *old;

	if (STORE_RUN(ctl->store, STMT_SESSION_ENV, &r, e, id, tenant) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	if (control_must_live(state_session_parse(rows_text(r, 0, "state")),
		e) < 0)
		return -1;
	old = rows_text(r, 0, "env_sealed");
	if (merge_env(ctl, id, old, env, &merged, e) < 0)
		return -1;
	if (json_object_size(merged) > ENV_COUNT_MAX)
		return err_field(e, "env", "may have at most %d members",
		    ENV_COUNT_MAX);
	text = json_text(merged);
	if (strlen(text) > ENV_BYTES_MAX)
		return err_field(e, "env", "may have at most %d bytes in all",
		    ENV_BYTES_MAX);
	box = sealed(ctl, id, "env", merged);
	spec = change_spec(ctl, env);
	if (STORE_RUN(ctl->store, STMT_SESSION_SET_ENV, &written, e, id, tenant,
		old, json_string_value(box), spec) < 0)
		return -1;
	*done = rows_count(written) > 0;
	return 0;
}

int
session_control_set_env(struct control *ctl, const char *id, const char *tenant,
    const json_t *env, struct err *e)
{
	struct session_row s;
	struct agent_target t;
	bool done = false;

	for (int i = 0; i < ENV_TRIES && !done; i++)
		if (put_env(ctl, id, tenant, env, &done, e) < 0)
			return -1;
	if (!done)
		return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
		    "others change the environment at the same time");
	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (!control_takes_messages(&s))
		return 0; /* the next start delivers it */
	CRASH_POINT("env.intent");
	t = control_target(&s);
	if (agent_env(&ctl->provider, &t, env, false,
		clock_ms() + (s.suspended ? FROZEN_MS : 2 * ASK_MS), e) == 0)
		return 0;
	/* one that stands still reads it first thing when it goes on */
	return s.suspended && e->code == CODE_TIMED_OUT ? 0 : -1;
}

int
session_control_ws_bounce(struct control *ctl, const char *id, struct err *e)
{
	struct session_row s;
	struct agent_target t;

	if (control_session(ctl, id, "", &s, e) < 0)
		return -1;
	if (s.lease == LEASE_NONE)
		return 0; /* nobody can be connected */
	if (!control_takes_messages(&s))
		return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
		    "session %s takes no messages now", id);
	if (!str_equal(s.host, ctl->conf->host_name))
		return err_set(e, ERR_UNAVAILABLE, CODE_OTHER_HOST,
		    "the sandbox belongs to host %s", s.host);
	t = control_target(&s);
	return agent_ws_bounce(&ctl->provider, &t,
	    clock_ms() + (s.suspended ? FROZEN_MS : 2 * ASK_MS), e);
}

int
session_control_bounced(struct control *ctl, const char *id,
    const char *bounce_at, struct err *e)
{
	if (session_control_ws_bounce(ctl, id, e) < 0)
		return err_wrap(e, "session %s", id);
	CRASH_POINT("bounce.done");
	return STORE_RUN(ctl->store, STMT_SESSION_BOUNCED, NULL, e, id,
	    bounce_at);
}

int
session_control_set_keys(struct control *ctl, const char *id,
    const char *tenant, const json_t *keys, const char *key, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *text = keys != NULL ? json_text(keys) : NULL;

	if (STORE_RUN(ctl->store, STMT_SESSION_SET_KEYS, &r, e, id, tenant,
		text, key) < 0)
		return -1;
	if (!rows_bool(r, 0, "done"))
		return err_set(e, ERR_NOT_FOUND, CODE_KEY_NOT_FOUND,
		    "the session has no such correlation key");
	return 0;
}

int
session_control_busy(struct control *ctl, const struct session_row *s,
    bool *busy, struct err *e)
{
	struct agent_status st;

	*busy = false;
	if (awake_ask(ctl, s, &st, e) < 0)
		return -1;
	*busy = st.busy;
	return 0;
}

json_t *
session_control_limits(struct control *ctl, const struct sandbox_spec *spec)
{
	return ctl->provider.ops->limits(&ctl->provider, spec);
}

int
session_control_agent_log(struct control *ctl, const char *id,
    const char *tenant, size_t max, struct buf *out, struct err *e)
{
	struct session_row s;

	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (control_must_be_here(ctl, &s, e) < 0)
		return -1;
	return ctl->provider.ops->agent_log(&ctl->provider, s.sandbox.id, max,
	    out, e);
}
