/* trigger_control.c: makes and changes triggers, and carries out due ones. */
#include "control/trigger_control.h"

#include <stdio.h>
#include <string.h>

#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/execution_control.h"
#include "control/network_control.h"

/* ---- changes by clients */

static void
add_text(json_t *spec, const char *name, const char *value)
{
	if (!str_empty(value))
		json_object_set_new(spec, name, json_string(value));
}

static void
add_run(struct control *ctl, const struct principal *who, const char *id,
    const json_t *run, json_t *spec)
{
	json_t *keys = json_object_get(run, "correlationKeys");

	json_object_update_new(spec,
	    json_pack("{s:o, s:s, s:o, s:O*, s:s, s:s, s:s, s:s}", "run",
		control_seal(ctl, id, "run", run), "agentType",
		json_str(run, "agentType"), "command",
		execution_shown_command(json_str(run, "command")), "network",
		json_object_get(run, "network"), "org", who->org, "user",
		who->user, "bot", who->bot, "keyId", who->key_id));
	json_object_set_new(spec, "correlationKeys",
	    keys != NULL ? json_incref(keys) : json_array());
}

/* As trigger_create() and trigger_patch() in SQL take it; the caller frees it. */
static char *
spec_text(struct control *ctl, const struct principal *who, const char *id,
    const struct trigger_options *o)
{
	json_t *spec = json_pack("{s:s, s:s}", "id", id, "tenant", who->tenant);

	add_text(spec, "name", o->name);
	add_text(spec, "schedule", o->schedule);
	add_text(spec, "timeZone", o->time_zone);
	if (o->sets != NULL)
		json_object_set_new(spec, "sets", json_deep_copy(o->sets));
	if (o->enabled >= 0)
		json_object_set_new(spec, "enabled", json_boolean(o->enabled));
	if (o->run != NULL)
		add_run(ctl, who, id, o->run, spec);
	return control_spec_text(spec);
}

/* Names the field that is meant.  Always -1. */
static int
refused(struct err *e)
{
	static const struct {
		enum err_code code;
		const char *field;
	} FIELDS[] = {
		{ CODE_UNKNOWN_TIME_ZONE, "timeZone" },
		{ CODE_SCHEDULE_NEVER, "schedule" },
		{ CODE_UNKNOWN_AGENT_TYPE, "run.agentType" },
		{ CODE_UNKNOWN_PRESET, "run.network.allow" },
	};
	char msg[ERR_MSG_MAX];

	str_copy(msg, sizeof(msg), e->msg);
	for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++)
		if (FIELDS[i].code == e->code)
			return err_field(e, FIELDS[i].field, "%s", msg);
	if (e->code == CODE_NAME_TAKEN)
		return err_set(e, ERR_CONFLICT, CODE_NAME_TAKEN,
		    "another trigger of the org has this name");
	return -1;
}

int
trigger_create(struct control *ctl, const struct principal *who,
    const struct trigger_options *o, char id[ID_MAX], struct err *e)
{
	auto_free char *spec = NULL;

	id_random(id, ID_SESSION_LEN);
	spec = spec_text(ctl, who, id, o);
	if (STORE_RUN(ctl->store, STMT_TRIGGER_CREATE, NULL, e, spec) < 0)
		return refused(e);
	return 0;
}

int
trigger_change(struct control *ctl, const struct principal *who, const char *id,
    const struct trigger_options *o, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = spec_text(ctl, who, id, o);

	if (STORE_RUN(ctl->store, STMT_TRIGGER_PATCH, &r, e, who->tenant, id,
		spec) < 0)
		return refused(e);
	return rows_bool(r, 0, "found") ? 0 : trigger_not_found(e);
}

int
trigger_not_found(struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_TRIGGER_NOT_FOUND,
	    "there is no such trigger; GET /v1/triggers lists them");
}

/* ---- carrying them out */

static struct principal
principal_of(const struct rows *r)
{
	struct principal who = { 0 };
	const struct {
		char *to;
		size_t size;
		const char *column;
	} MEMBERS[] = {
		{ who.key_id, sizeof(who.key_id), "key_id" },
		{ who.tenant, sizeof(who.tenant), "tenant" },
		{ who.org, sizeof(who.org), "org" },
		{ who.user, sizeof(who.user), "user_id" },
		{ who.bot, sizeof(who.bot), "bot" },
		{ who.isolation, sizeof(who.isolation), "isolation" },
		{ who.salt, sizeof(who.salt), "salt" },
	};

	for (size_t i = 0; i < ARRAY_LEN(MEMBERS); i++)
		str_copy(MEMBERS[i].to, MEMBERS[i].size,
		    rows_text(r, 0, MEMBERS[i].column));
	return who;
}

static int64_t
int_of(const json_t *run, const char *name)
{
	return json_integer_value(json_object_get(run, name));
}

static struct session_options
place_of(const struct control *ctl, const json_t *run)
{
	return (struct session_options){ .class_name = json_str(run, "class"),
		.agent_type = json_str(run, "agentType"),
		.correlation_keys = json_object_get(run, "correlationKeys"),
		.network = json_object_get(run, "network"),
		.limits = json_object_get(run, "limits"),
		.files_in_root = int_of(run, "filesInRoot"),
		.isolation = (int)int_of(run, "isolation"),
		.sleep_after_seconds = ctl->conf->sleep_after_seconds,
		.no_start = true,
		.told = true,
		.for_execution = true };
}

/*
 * Records the execution.  The hash covers only the task: a second reaper may
 * have read the row before its run was changed.
 */
static int
record(struct control *ctl, const struct rows *r, struct execution_started *out,
    struct err *e)
{
	struct principal who = principal_of(r);
	const char *id = rows_text(r, 0, "id");
	const char *task = rows_text(r, 0, "task");
	auto_json json_t *run = NULL;
	char hash[TOKEN_HASH_HEX_MAX];
	struct execution_options o;
	struct session_options place;
	json_t *work;

	if (control_unseal(ctl, id, "run", rows_text(r, 0, "run_sealed"), &run,
		e) < 0)
		return -1;
	token_hash(task, hash);
	work = json_object_get(run, "work");
	json_object_set_new(json_object_get(work, "env"), "SANDLEASE_TASK_ID",
	    json_string(task));
	o = (struct execution_options){ .agent_type =
					    json_str(run, "agentType"),
		.task_id = task,
		.hash = hash,
		.command = json_str(run, "command"),
		.work = work,
		.limits = json_object_get(run, "limits"),
		.cleanup = json_str(run, "cleanup"),
		.max_retries = int_of(run, "maxRetries"),
		.unattended = true };
	place = place_of(ctl, run);
	return execution_start(ctl, &who, &o, &place, out, e);
}

/* Whether the next pass, or another host, may succeed. */
static bool
may_pass(const struct err *e)
{
	return err_retryable(e) || e->kind == ERR_LIMITED ||
	    e->kind == ERR_NO_SPACE || e->kind == ERR_INTERNAL ||
	    e->code == CODE_SESSION_DELETING;
}

static int
fire(struct control *ctl, const struct rows *r, struct err *e)
{
	auto_execution_started struct execution_started s = { 0 };
	const char *id = rows_text(r, 0, "id"), *due = rows_text(r, 0, "at");
	struct err why = { 0 };

	if (record(ctl, r, &s, &why) == 0) {
		CRASH_POINT("trigger.recorded");
		if (STORE_RUN(ctl->store, STMT_TRIGGER_FIRED, NULL, e, id, due,
			s.id) < 0)
			return -1;
		CRASH_POINT("trigger.fired");
		execution_start_leave(ctl, &s);
		return 0;
	}
	log_err(LOG_INFO, "trigger", &why);
	return STORE_RUN(ctl->store, STMT_TRIGGER_FAILED, NULL, e, id, due,
	    err_told(&why), may_pass(&why) ? "true" : "false");
}

int
trigger_fire(struct control *ctl, const char *id, const char *at, struct err *e)
{
	auto_rows struct rows *r = NULL;
	int rc;

	if (STORE_RUN(ctl->store, STMT_TRIGGER_DUE, &r, e, id, at) < 0)
		return -1;
	if (rows_count(r) == 0)
		return 0;
	snprintf(ctl->actor, sizeof(ctl->actor), "trigger:%s/%s", id,
	    rows_text(r, 0, "user_id"));
	rc = fire(ctl, r, e);
	ctl->actor[0] = '\0';
	return rc;
}
