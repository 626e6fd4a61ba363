/* v1_interrupt.c: POST /v1/sessions/:id/interrupt. */
#include "api/app.h"
#include "api/handlers.h"
#include "common/mem.h"
#include "control/interrupt_control.h"

int
v1_session_interrupt(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *reply = NULL;
	const char *id = call_var(c, "id");
	int64_t count;

	if (ctl == NULL ||
	    interrupt_session(ctl, id, app_of(c)->who.tenant, &count, e) < 0)
		return -1;
	/* 202: the host that has the sandbox will, and count what it ended */
	reply = json_pack("{s:s, s:s, s:o}", "id", id, "state", "ready",
	    "interrupted",
	    count < 0 ? json_null() : json_integer((json_int_t)count));
	call_reply(c, count < 0 ? 202 : 200, reply);
	return 0;
}
