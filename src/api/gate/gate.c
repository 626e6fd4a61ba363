/* gate.c: finds the gate that answers an internal request of nginx. */
#include "api/gate/gate.h"

#include "api/error.h"
#include "api/gate/access.h"
#include "api/gate/auth.h"
#include "api/gate/refusals.h"
#include "api/gate/wake.h"
#include "common/mem.h"
#include "web/reply.h"

static void
deny_gate(struct call *c)
{
	struct err e = { 0 }, why = { 0 };

	refusal_read(call_param(c, "SL_DENY"), &e);
	/* the same headers are here: say exactly what is wrong with them */
	if (e.code == CODE_UNAUTHORIZED &&
	    access_credential(c, &(struct credential){ 0 }, &why) < 0)
		e = why;
	if (str_equal(call_param(c, "SL_SURFACE"), "preview"))
		error_render_preview(c, &e);
	else if (e.code == CODE_PORT_NOT_EXPOSED)
		reply_proxy_error(c, &e, "Port not found",
		    call_param(c, "SL_PORT"));
	else
		error_render_container(c, &e, e.code);
}

struct gate {
	const char *route;
	gate_fn *fn;
};

static const struct gate GATES[] = {
	{ "auth-session", auth_session },
	{ "auth-preview", auth_preview },
	{ "deny", deny_gate },
	{ "wake-session", wake_session },
	{ "wake-preview", wake_preview },
	{ "dead-session", dead_session },
	{ "dead-preview", dead_preview },
};

gate_fn *
gate_find(const char *route)
{
	for (size_t i = 0; i < ARRAY_LEN(GATES); i++)
		if (str_equal(GATES[i].route, route))
			return GATES[i].fn;
	return NULL;
}
