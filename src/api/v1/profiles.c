/* profiles.c: shows, changes and suggests the profiles of agent types. */
#include <stdio.h>

#include "api/app.h"
#include "api/v1/execution_body.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"
#include "api/v1/session_body.h"
#include "common/mem.h"
#include "control/network_control.h"
#include "domain/network.h"

enum { PERCENTILE_DEFAULT = 95 };

struct profile_body {
	const json_t *limits;
	const json_t *network;
	char command[EXECUTION_COMMAND_MAX + 1];
};

/* clang-format off */
const struct jfield PROFILE_FIELDS[] = {
	JFIELD_OBJ("limits", struct profile_body, limits, J_REQUIRED, 6, LIMITS_FIELDS, LIMITS_FIELD_COUNT, "{memoryMb, cpuSeconds, wallSeconds, networkRequests, pids, diskMb}; one that is not given is the class's"),
	JFIELD("network", struct profile_body, network, J_OBJ, J_NULLABLE, 0, 3, "{mode, allow, maxRequests}: what its sessions may connect to; without it, as the org says"),
	JFIELD("command", struct profile_body, command, J_STR, J_NULLABLE, 1, EXECUTION_COMMAND_MAX, "run by an execution of this type that brings none"),
};
/* clang-format on */
const size_t PROFILE_FIELD_COUNT = ARRAY_LEN(PROFILE_FIELDS);

static int
not_found(struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_PROFILE_NOT_FOUND,
	    "there is no profile of that type; GET /v1/profiles lists them");
}

static int
reply_profile(struct call *c, int status, const char *type, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_GET, &r, e,
		app_of(c)->who.tenant, type) < 0)
		return -1;
	return rows_count(r) == 0 ? not_found(e) : reply_row(c, status, r, e);
}

int
v1_profile_get(struct call *c, struct err *e)
{
	return reply_profile(c, 200, call_var(c, "type"), e);
}

/* Reads the body as profile_put() in SQL takes it.  NULL with e set. */
static char *
read_spec(struct call *c, struct control *ctl, struct err *e)
{
	auto_json json_t *json = NULL, *network = NULL;
	auto_free struct profile_body *b = xcalloc(1, sizeof(*b));

	if (call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, PROFILE_FIELDS, PROFILE_FIELD_COUNT, 0, b, e) <
		0 ||
	    limits_check(b->limits, "limits", e) < 0)
		return NULL;
	if (b->network != NULL && !json_is_null(b->network) &&
	    network_check(b->network, "network", &network, e) < 0)
		return NULL;
	return control_spec_text(json_pack("{s:O, s:O*, s:s*, s:s*, s:s, s:b}",
	    "limits", b->limits, "network", network, "command",
	    b->command[0] != '\0' ? b->command : NULL, "actor",
	    control_actor(ctl), "trace", ctl->trace, "counted", 1));
}

int
v1_profile_put(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *type = call_var(c, "type");
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;

	if (ctl == NULL)
		return -1;
	if (!limits_is_agent_type(type))
		return err_field(e, "type",
		    "must have 1 to %d letters, digits and ._-",
		    AGENT_TYPE_MAX - 1);
	spec = read_spec(c, ctl, e);
	if (spec == NULL)
		return -1;
	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_PUT, &r, e,
		app_of(c)->who.tenant, type, spec) < 0)
		return network_refused(e);
	return reply_profile(c, rows_bool(r, 0, "made") ? 201 : 200, type, e);
}

int
v1_profile_delete(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;

	if (ctl == NULL)
		return -1;
	spec = control_spec_text(json_pack("{s:s*, s:s, s:b}", "actor",
	    control_actor(ctl), "trace", ctl->trace, "counted", 1));
	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_DELETE, &r, e,
		app_of(c)->who.tenant, call_var(c, "type"), spec) < 0)
		return -1;
	if (!rows_bool(r, 0, "deleted"))
		return err_set(e, ERR_NOT_FOUND, CODE_PROFILE_NOT_FOUND,
		    "the org has no profile of its own of that type");
	call_reply_empty(c, 204);
	return 0;
}

int
v1_profile_suggestion(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;
	int64_t percentile = PERCENTILE_DEFAULT;
	char part[16];

	if (call_query_int(c, "percentile", 1, 100, &percentile, e) < 0)
		return -1;
	snprintf(part, sizeof(part), "%.2f", (double)percentile / 100);
	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_SUGGESTION, &r, e,
		app_of(c)->who.tenant, call_var(c, "type"), part) < 0)
		return -1;
	return rows_count(r) == 0 ? not_found(e) : reply_row(c, 200, r, e);
}
