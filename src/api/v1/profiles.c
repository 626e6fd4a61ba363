/* profiles.c: shows and changes the profiles of agent types. */
#include <string.h>

#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "common/mem.h"
#include "control/network_control.h"
#include "domain/network.h"

struct profile_body {
	const json_t *limits;
	const json_t *network;
};

/* clang-format off */
const struct jfield PROFILE_FIELDS[] = {
	JFIELD("limits", struct profile_body, limits, J_OBJ, J_REQUIRED, 0, 6, "{memoryMb, cpuSeconds, wallSeconds, networkRequests, pids, diskMb}; one that is not given is the class's"),
	JFIELD("network", struct profile_body, network, J_OBJ, J_NULLABLE, 0, 3, "{mode, allow, maxRequests}: what its sessions may connect to; without it, as the org says"),
};
/* clang-format on */
const size_t PROFILE_FIELD_COUNT = ARRAY_LEN(PROFILE_FIELDS);

static int
reply_profile(struct call *c, int status, const char *type, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *reply = NULL;
	const char *text;

	if (STORE_RUN(app_of(c)->store, STMT_PROFILE_GET, &r, e,
		app_of(c)->who.tenant, type) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_PROFILE_NOT_FOUND,
		    "there is no profile of that type; GET /v1/profiles lists them");
	text = rows_text(r, 0, "json");
	if (json_parse(text, strlen(text), &reply, e) < 0)
		return -1;
	call_reply(c, status, reply);
	return 0;
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
	struct profile_body b = { 0 };

	if (call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, PROFILE_FIELDS, PROFILE_FIELD_COUNT, 0, &b, e) <
		0 ||
	    limits_check(b.limits, "limits", e) < 0)
		return NULL;
	if (b.network != NULL && !json_is_null(b.network) &&
	    network_check(b.network, "network", &network, e) < 0)
		return NULL;
	return control_spec_text(json_pack("{s:O, s:O*, s:s*, s:s, s:b}",
	    "limits", b.limits, "network", network, "actor", control_actor(ctl),
	    "trace", ctl->trace, "counted", 1));
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
