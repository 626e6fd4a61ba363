/* triggers.c: serves the routes of triggers. */
#include "api/app.h"
#include "api/v1/execution_body.h"
#include "api/v1/execution_call.h"
#include "api/v1/handlers.h"
#include "api/v1/keys_body.h"
#include "api/v1/reply_rows.h"
#include "api/v1/session_body.h"
#include "common/mem.h"
#include "control/trigger_control.h"
#include "domain/schedule.h"

enum { NAME_MAX_BYTES = 128 };

struct trigger_body {
	char name[NAME_MAX_BYTES + 1];
	char schedule[SCHEDULE_TEXT_MAX];
	char time_zone[SCHEDULE_ZONE_MAX];
	const json_t *run;
	int enabled;
};

/* clang-format off */
#define FIELDS(required) \
	JFIELD("name", struct trigger_body, name, J_STR, required, 1, NAME_MAX_BYTES, "the org has one of a name"), \
	JFIELD("schedule", struct trigger_body, schedule, J_STR, required, 1, SCHEDULE_TEXT_MAX - 1, "a cron expression: minute, hour, day of the month, month, weekday; or @daily and the like"), \
	JFIELD("timeZone", struct trigger_body, time_zone, J_STR, 0, 1, SCHEDULE_ZONE_MAX - 1, "by which the schedule goes, as `Europe/Berlin`; `UTC` without it"), \
	JFIELD("run", struct trigger_body, run, J_OBJ, required, 0, 32, "the body of `POST /v1/executions`, without taskId; sealed, shown in part"), \
	JFIELD("enabled", struct trigger_body, enabled, J_BOOL, 0, 0, 1, "false: it is never due")

const struct jfield TRIGGER_FIELDS[] = { FIELDS(J_REQUIRED) };
const struct jfield TRIGGER_PATCH_FIELDS[] = { FIELDS(0) };
/* clang-format on */
const size_t TRIGGER_FIELD_COUNT = ARRAY_LEN(TRIGGER_FIELDS);
const size_t TRIGGER_PATCH_FIELD_COUNT = ARRAY_LEN(TRIGGER_PATCH_FIELDS);

/* ---- bodies */

/* The run as trigger_control.h takes it; NULL with e set. */
static json_t *
resolve_run(struct call *c, json_t *run, struct err *e)
{
	auto_free struct execution_body *b = xcalloc(1, sizeof(*b));
	auto_free char *shown = NULL;

	if (run_body_check(run, b, e) < 0)
		return NULL;
	if (b->task_id[0] != '\0') {
		err_field(e, "taskId",
		    "is not for triggers: each due time is a task of its own");
		return NULL;
	}
	if (execution_read_command(c, b, e) < 0)
		return NULL;
	shown = execution_body_shown(b);
	return json_pack(
	    "{s:s, s:o, s:o, s:O*, s:O*, s:s, s:I, s:O*, s:i, s:s, s:I}",
	    "agentType", b->agent_type, "command", json_lossy(shown), "work",
	    execution_body_work(b), "limits", b->limits, "network", b->network,
	    "cleanup", execution_body_cleanup(b), "maxRetries",
	    (json_int_t)b->max_retries, "correlationKeys", b->correlation_keys,
	    "isolation", b->isolation, "class", b->class_name, "filesInRoot",
	    (json_int_t)b->files_in_root);
}

/* A body, decoded and checked. */
struct trigger_read {
	struct trigger_body b;
	json_t *json, *sets, *run;
};

static void
trigger_read_free(struct trigger_read *t)
{
	json_release(&t->json);
	json_release(&t->sets);
	json_release(&t->run);
}
#define auto_trigger_read __attribute__((cleanup(trigger_read_free)))

static int
read_schedule(struct trigger_read *t, struct err *e)
{
	struct schedule s;

	if (t->b.time_zone[0] != '\0' && !schedule_is_zone(t->b.time_zone))
		return err_field(e, "timeZone",
		    "must be UTC or a name as Europe/Berlin");
	if (t->b.schedule[0] == '\0')
		return 0;
	if (schedule_parse(t->b.schedule, &s, e) < 0)
		return -1;
	t->sets = schedule_json(&s);
	return 0;
}

static int
read_trigger(struct call *c, const struct jfield *fields, size_t count,
    struct trigger_read *t, struct err *e)
{
	t->b.enabled = -1;
	if (call_json(c, BODY_MAX, &t->json, e) < 0 ||
	    jfield_decode(t->json, fields, count, 0, &t->b, e) < 0 ||
	    read_schedule(t, e) < 0)
		return -1;
	if (t->b.name[0] != '\0' && !correlation_is_key(t->b.name))
		return err_field(e, "name", "must be printable");
	if (t->b.run == NULL)
		return 0;
	t->run = resolve_run(c, json_object_get(t->json, "run"), e);
	return t->run != NULL ? 0 : err_below(e, "run");
}

static struct trigger_options
options_of(const struct trigger_read *t)
{
	return (struct trigger_options){ .name = t->b.name,
		.schedule = t->b.schedule,
		.sets = t->sets,
		.time_zone = t->b.time_zone,
		.enabled = t->b.enabled,
		.run = t->run };
}

/* ---- calls */

static int
reply_trigger(struct call *c, int status, const char *id, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_TRIGGER_GET, &r, e,
		app_of(c)->who.tenant, id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return trigger_not_found(e);
	return reply_row(c, status, r, e);
}

int
v1_trigger_create(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_trigger_read struct trigger_read t = { 0 };
	struct trigger_options o;
	char id[ID_MAX];

	if (ctl == NULL ||
	    read_trigger(c, TRIGGER_FIELDS, TRIGGER_FIELD_COUNT, &t, e) < 0)
		return -1;
	o = options_of(&t);
	if (str_empty(o.time_zone))
		o.time_zone = "UTC";
	o.enabled = o.enabled != 0;
	if (trigger_create(ctl, &app_of(c)->who, &o, id, e) < 0)
		return -1;
	return reply_trigger(c, 201, id, e);
}

int
v1_trigger_patch(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "trigger");
	auto_trigger_read struct trigger_read t = { 0 };
	struct trigger_options o;

	if (ctl == NULL)
		return -1;
	if (!id_is_session(id))
		return trigger_not_found(e);
	if (read_trigger(c, TRIGGER_PATCH_FIELDS, TRIGGER_PATCH_FIELD_COUNT, &t,
		e) < 0)
		return -1;
	o = options_of(&t);
	if (trigger_change(ctl, &app_of(c)->who, id, &o, e) < 0)
		return -1;
	return reply_trigger(c, 200, id, e);
}

int
v1_trigger_get(struct call *c, struct err *e)
{
	return reply_trigger(c, 200, call_var(c, "trigger"), e);
}

int
v1_trigger_delete(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_TRIGGER_DELETE, &r, e,
		app_of(c)->who.tenant, call_var(c, "trigger")) < 0)
		return -1;
	if (rows_count(r) == 0)
		return trigger_not_found(e);
	call_reply_empty(c, 204);
	return 0;
}

int
v1_triggers(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_TRIGGER_LIST, &r, e,
		app_of(c)->who.tenant) < 0)
		return -1;
	return reply_rows(c, "triggers", r, e);
}
