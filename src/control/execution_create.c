/* execution_create.c: records executions, in sessions that there are or of their own. */
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"
#include "control/create.h"
#include "control/execution_control.h"
#include "control/execution_give.h"
#include "control/launch.h"
#include "control/network_control.h"
#include "control/start.h"

enum { TRIES = 3 }; /* the session that it finds may end meanwhile */

/* ---- intent */

json_t *
execution_shown_command(const char *command)
{
	size_t len = strlen(command);
	auto_free char *text = NULL;

	if (len > EXECUTION_COMMAND_SHOWN)
		len = utf8_whole(command, EXECUTION_COMMAND_SHOWN);
	text = xasprintf("%.*s", (int)len, command);
	return json_lossy(text);
}

static const char *
or_null(const char *s)
{
	return str_empty(s) ? NULL : s;
}

/* The spec as execution_create() in SQL takes it; the caller frees it. */
static char *
spec_text(struct control *ctl, const struct principal *who,
    const struct execution_options *o, const char *id)
{
	json_t *spec = json_pack(
	    "{s:s, s:s*, s:s, s:s, s:s*, s:s*, s:s, s:o, s:o, s:O*, s:s*, s:i,"
	    " s:i, s:s, s:s, s:s*}",
	    "id", id, "session", or_null(o->session), "tenant", who->tenant,
	    "user", who->user, "type", or_null(o->agent_type), "task",
	    or_null(o->task_id), "hash", o->hash, "work",
	    control_seal(ctl, id, "work", o->work), "command",
	    execution_shown_command(o->command), "limits", o->limits, "cleanup",
	    or_null(o->cleanup), "most", EXECUTION_QUEUE_MAX, "orgMost",
	    EXECUTION_ORG_MAX, "host", ctl->conf->host_name, "trace",
	    ctl->trace, "actor", control_actor(ctl));

	if (o->max_retries >= 0)
		json_object_set_new(spec, "retries",
		    json_integer(o->max_retries));
	if (o->unattended)
		json_object_set_new(spec, "unattended", json_true());
	return control_spec_text(spec);
}

/* Names the field that is meant.  Always -1. */
static int
refused(struct err *e)
{
	char msg[ERR_MSG_MAX];

	if (e->code == CODE_LIMIT_TOO_HIGH)
		return control_limit_refused(e);
	if (e->code == CODE_UNKNOWN_AGENT_TYPE) {
		str_copy(msg, sizeof(msg), e->msg);
		return err_field(e, "agentType", "%s", msg);
	}
	return -1;
}

int
execution_create(struct control *ctl, const struct principal *who,
    const struct execution_options *o, int64_t wait_until_ms, char id[ID_MAX],
    struct execution_made *made, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	struct err why = { 0 };
	struct session_row s;
	bool given;

	/* also tells its owner of a stranger who asks */
	if (control_session(ctl, o->session, who->tenant, &s, e) < 0)
		return -1;
	id_random(id, ID_SESSION_LEN);
	spec = spec_text(ctl, who, o, id);
	if (STORE_RUN(ctl->store, STMT_EXECUTION_CREATE, &r, e, spec) < 0)
		return refused(e);
	str_copy(id, ID_MAX, rows_text(r, 0, "id"));
	given = rows_bool(r, 0, "given");
	*made = (struct execution_made){ .is_new = rows_bool(r, 0, "made"),
		/* the end of a start gives it (session_verified() in SQL) */
		.waiting = !given && s.state != SESSION_INITIALIZING };
	CRASH_POINT("execution.intent");
	/* a failure is told by the execution's own state */
	if (given &&
	    execution_give_and_ask(ctl, &s, id, wait_until_ms, &made->rest,
		&why) < 0)
		log_err(LOG_INFO, "execution_create", &why);
	return 0;
}

/* ---- with a session of its own */

void
execution_started_free(struct execution_started *s)
{
	rows_free(&s->plan);
}

int
execution_start(struct control *ctl, const struct principal *who,
    const struct execution_options *o, const struct session_options *w,
    struct execution_started *out, struct err *e)
{
	int rc = -1;

	*out = (struct execution_started){ 0 };
	/* before a session is registered that could not be started */
	if (control_ready(ctl, e) < 0)
		return -1;
	/* the end of another execution may delete the session that it found */
	for (int i = 0; i < TRIES && rc < 0; i++) {
		auto_free char *spec = NULL;

		id_random(out->id, ID_SESSION_LEN);
		spec = spec_text(ctl, who, o, out->id);
		rc = create_register(ctl, who, w, spec, &out->plan, &out->alone,
		    e);
		if (rc < 0 && e->code != CODE_SESSION_DELETING)
			return refused(e);
	}
	if (rc < 0)
		return -1;
	str_copy(out->id, ID_MAX, rows_text(out->plan, 0, "execution"));
	str_copy(out->session, ID_MAX, rows_text(out->plan, 0, "session_id"));
	out->made = rows_bool(out->plan, 0, "made");
	out->network_changed = w->network != NULL;
	CRASH_POINT("execution.started");
	return 0;
}

/* Starts a session that was made for the execution. */
static int
launch(struct control *ctl, struct execution_started *s, int64_t deadline_ms,
    int64_t wait_until_ms, struct err *e)
{
	struct session_row row;

	if (launch_act(ctl, s->plan, s->alone, deadline_ms, e) < 0 &&
	    (!start_worth_retry(e) ||
		start_finish(ctl, s->session, "", deadline_ms, e) < 0)) {
		/* a start that goes on is no failure */
		if (!start_undecided(e))
			execution_not_given(ctl, s->id, e);
		return -1;
	}
	if (control_session(ctl, s->session, "", &row, e) < 0)
		return -1;
	return execution_give_and_ask(ctl, &row, s->id, wait_until_ms, &s->rest,
	    e);
}

static void
follow_network(struct control *ctl, struct execution_started *s)
{
	struct err e = { 0 };

	if (s->network_changed && network_change(ctl, s->session, &e) < 0)
		log_err(LOG_WARN, "network_change", &e);
}

void
execution_start_leave(struct control *ctl, struct execution_started *s)
{
	if (create_disposition(rows_text(s->plan, 0, "disposition")) ==
	    SESSION_FOUND)
		follow_network(ctl, s);
}

void
execution_start_act(struct control *ctl, struct execution_started *s,
    int64_t start_until_ms, int64_t wait_until_ms)
{
	enum disposition how =
	    create_disposition(rows_text(s->plan, 0, "disposition"));
	struct err e = { 0 };
	int rc = 0;

	if (how == SESSION_CREATED)
		rc = launch(ctl, s, start_until_ms, wait_until_ms, &e);
	else if (how == SESSION_FOUND) {
		follow_network(ctl, s);
		rc = execution_deliver(ctl, s->session, start_until_ms, &e);
	}
	if (rc < 0)
		log_err(LOG_INFO, "execution_start", &e);
}
