/* session_now.c: asks wrappers whether their sessions are busy. */
#include "api/v1/session_now.h"

#include <inttypes.h>
#include <stdlib.h>

#include "api/org_share.h"
#include "common/mem.h"
#include "control/awake.h"

/* A session of the answer, and the question to its wrapper. */
struct shown {
	json_t *session; /* borrowed */
	struct awake_question one;
	bool asked;
	bool unknown; /* there may be a wrapper, but it has not answered */
};

static void
read_target(const json_t *s, struct agent_target *t)
{
	const json_t *lease = json_object_get(s, "lease");

	str_copy(t->session, sizeof(t->session), json_str(s, "id"));
	str_copy(t->sandbox, sizeof(t->sandbox), json_str(s, "sandboxId"));
	str_copy(t->instance, sizeof(t->instance), json_str(lease, "instance"));
	str_copy(t->incarnation, sizeof(t->incarnation),
	    json_str(json_object_get(s, "agent"), "incarnation"));
	t->generation =
	    json_integer_value(json_object_get(lease, "generation"));
}

static bool
may_have_wrapper(const json_t *s)
{
	enum session_state state = state_session_parse(json_str(s, "state"));

	return state == SESSION_READY || state == SESSION_INITIALIZING;
}

static bool
is_here(const struct control *ctl, const json_t *s)
{
	const char *host = json_str(json_object_get(s, "agent"), "host");

	return host[0] == '\0' || str_equal(host, ctl->conf->host_name);
}

static char *
wrapper_name(const struct shown *v)
{
	return xasprintf("%s.%" PRId64, v->one.target.session,
	    v->one.target.generation);
}

/*
 * Asks the wrappers on this host.  A wrapper that a tenant has stopped
 * (SIGSTOP) would delay each call, so a wrapper that did not answer is not
 * asked for a while.
 */
static void
ask_wrappers(struct call *c, struct control *ctl, struct shown *all,
    size_t count)
{
	struct app *app = app_of(c);
	auto_free struct awake_question **who =
	    xcalloc(count + 1, sizeof(*who));
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		auto_free char *name = wrapper_name(&all[i]);

		if (!all[i].unknown || !is_here(ctl, all[i].session) ||
		    org_share_is_mute(app->share, name))
			continue;
		all[i].asked = true;
		who[n++] = &all[i].one;
	}
	/* too many calls wait already: answer from rows only */
	if (n == 0 ||
	    !org_share_wait(app->share, app->worker, app->who.tenant,
		SHARE_ANSWER))
		return;
	awake_ask_all(ctl, who, n);
	for (size_t i = 0; i < count; i++) {
		auto_free char *name = wrapper_name(&all[i]);

		if (!all[i].asked)
			continue;
		all[i].unknown =
		    !all[i].one.answered && awake_is_unknown(&all[i].one.e);
		if (all[i].unknown)
			org_share_mute(app->share, name);
	}
}

/*
 * Sets `busy` and `alive`.  If the wrapper has not answered, alive.until is
 * that of the last pass of the reaper.
 */
static void
set_busy(struct shown *v)
{
	json_t *s = v->session, *alive = json_object_get(s, "alive");
	const struct agent_status *st = &v->one.status;
	bool busy = v->unknown ? json_is_true(json_object_get(s, "busy"))
			       : v->one.answered && st->busy;
	json_t *until = json_object_get(alive, "untilIfBusy");

	if (busy && until != NULL)
		json_object_set(alive, "until", until);
	if (v->one.answered)
		awake_explain(st,
		    json_integer_value(json_object_get(s, "sleepAfterSeconds")),
		    alive);
	/* a session that starts runs no commands yet */
	busy = busy && str_equal(json_str(s, "state"), "ready");
	json_object_set_new(s, "busy",
	    v->unknown ? json_null() : json_boolean(busy));
	json_object_del(alive, "untilIfBusy");
	json_object_del(s, "agent");
}

void
session_now_idle(json_t *session)
{
	struct shown v = { .session = session };

	set_busy(&v);
}

void
session_now(struct call *c, struct control *ctl, json_t *sessions)
{
	size_t count = json_array_size(sessions);
	auto_free struct shown *all = xcalloc(count + 1, sizeof(*all));

	for (size_t i = 0; i < count; i++) {
		all[i].session = json_array_get(sessions, i);
		all[i].unknown = may_have_wrapper(all[i].session);
		read_target(all[i].session, &all[i].one.target);
	}
	ask_wrappers(c, ctl, all, count);
	for (size_t i = 0; i < count; i++)
		set_busy(&all[i]);
}
