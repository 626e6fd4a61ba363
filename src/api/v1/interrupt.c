/* interrupt.c: serves POST /v1/sessions/:id/interrupt. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/session_body.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/interrupt_control.h"

static int
interrupt_all_or_shell(struct control *ctl, struct call *c,
    const struct interrupt_body *b, int64_t *count, struct err *e)
{
	const char *id = call_var(c, "id"), *tenant = app_of(c)->who.tenant;

	if (str_empty(b->shell))
		return interrupt_session(ctl, id, tenant, count, e);
	return interrupt_session_shell(ctl, id, tenant, b->shell, count, e);
}

int
v1_session_interrupt(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *json = NULL, *reply = NULL;
	struct interrupt_body b = { 0 };
	int64_t count;

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, INTERRUPT_FIELDS, INTERRUPT_FIELD_COUNT, 0, &b,
		e) < 0 ||
	    interrupt_all_or_shell(ctl, c, &b, &count, e) < 0)
		return -1;
	/* count < 0: another host has the sandbox and will do it later; 202 */
	reply = json_pack("{s:s, s:s, s:o}", "id", call_var(c, "id"), "state",
	    "ready", "interrupted",
	    count < 0 ? json_null() : json_integer((json_int_t)count));
	call_reply(c, count < 0 ? 202 : 200, reply);
	return 0;
}
