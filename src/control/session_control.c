/* session_control.c: deletes and changes sessions and puts them to sleep. */
#include "control/session_control.h"

#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/execution_control.h"
#include "control/finish.h"
#include "control/network_control.h"
#include "control/stop.h"
#include "control/suspend.h"
#include "domain/state.h"
#include "provider/link/link.h"

enum {
	ASK_MS = 500,
	FROZEN_MS = 50,
	ENV_BYTES_MAX = 48 * 1024,
	ENV_COUNT_MAX = 256,
	ENV_TRIES = 50 /* a lost try means that another writer succeeded */
};

/* A result that is not taken now is lost with the session's wrapper or files. */
static void
settle_executions(struct control *ctl, const struct session_row *s,
    const char *why)
{
	if (s->state == SESSION_READY && control_is_here(ctl, s))
		execution_settle(ctl, s->id, why);
}

int
session_control_sleep(struct control *ctl, const char *id, const char *tenant,
    const char *reason, int suspend, struct err *e)
{
	struct session_row s;
	bool freeze;

	if (control_session(ctl, id, tenant, &s, e) < 0 ||
	    control_must_live(s.state, e) < 0)
		return -1;
	freeze = suspend < 0 ? s.suspend : suspend > 0;
	/* a session that is starting has nothing yet that is worth keeping */
	if (freeze && (s.suspended || s.state == SESSION_READY))
		return suspend_session(ctl, id, reason, -1, e);
	settle_executions(ctl, &s, "the session was put to sleep");
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
	settle_executions(ctl, &s, "the session was deleted");
	if (stop_request(ctl, id, STOP_DELETE, "session-delete", NULL, -1, e) <
	    0)
		return -1;
	CRASH_POINT("delete.intent");
	/* the request is written: the reaper of that host finishes it */
	if (stop_attempt(ctl, id, &why) < 0 ||
	    (control_is_here(ctl, &s) &&
		finish_delete(ctl, id, gone, &why) < 0))
		log_err(LOG_WARN, "delete_goes_on", &why);
	return 0;
}

/* Merges `patch` into the present environment; a null value removes. */
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

/* The spec for the event of a change: its actor, and the variables' names. */
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

/* One try.  *done: no other writer changed it between read and write. */
static int
try_put_env(struct control *ctl, const char *id, const char *tenant,
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
	box = control_seal(ctl, id, "env", merged);
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
		if (try_put_env(ctl, id, tenant, env, &done, e) < 0)
			return -1;
	if (!done)
		return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
		    "other requests change the environment at the same time; try again");
	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (!control_takes_messages(&s))
		return 0; /* the next launch brings it */
	CRASH_POINT("env.intent");
	t = control_target(&s);
	if (agent_env(&ctl->provider, &t, env, false,
		clock_ms() + (s.suspended ? FROZEN_MS : 2 * ASK_MS), e) == 0)
		return 0;
	/* a suspended wrapper reads the message after its thaw */
	return s.suspended && e->code == CODE_TIMED_OUT ? 0 : -1;
}

int
session_control_patch(struct control *ctl, const char *id, const char *tenant,
    const json_t *changes, const json_t *env, const json_t *secrets,
    struct err *e)
{
	json_t *who = json_pack("{s:s, s:s*}", "trace", ctl->trace, "actor",
	    control_actor(ctl));
	auto_free char *spec = NULL;

	json_object_update(who, (json_t *)(uintptr_t)changes);
	if (secrets != NULL)
		control_add_secrets(ctl, id, secrets, who);
	spec = control_spec_text(who);
	if (STORE_RUN(ctl->store, STMT_SESSION_PATCH, NULL, e, id, tenant,
		spec) < 0)
		return network_refused(e);
	if (env != NULL && session_control_set_env(ctl, id, tenant, env, e) < 0)
		return -1;
	if (json_object_get(changes, "network") == NULL && secrets == NULL)
		return 0;
	return network_change(ctl, id, e);
}

int
session_control_ws_bounce(struct control *ctl, const char *id, struct err *e)
{
	struct session_row s;
	struct agent_target t;

	if (control_session(ctl, id, "", &s, e) < 0)
		return -1;
	if (s.lease == LEASE_NONE)
		return 0; /* no wrapper, so no connection */
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
