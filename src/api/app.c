/* app.c: gives handlers and gates the state of their worker. */
#include "api/app.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"

int
app_open_control(struct app *app, struct err *e)
{
	if (app->ctl_open)
		return 0;
	if (control_open(app->conf, app->store, &app->ctl, e) < 0)
		return -1;
	app->ctl_open = true;
	return 0;
}

struct control *
app_control(struct call *c, struct err *e)
{
	struct app *app = app_of(c);

	if (app_open_control(app, e) < 0)
		return NULL;
	control_forget_started(&app->ctl);
	app->ctl.show = false;
	str_copy(app->ctl.trace, sizeof(app->ctl.trace), c->trace_id);
	snprintf(app->ctl.actor, sizeof(app->ctl.actor), "key:%s/%s",
	    app->who.key_id, app->who.user);
	return &app->ctl;
}

int64_t
app_deadline(struct call *c, int64_t wait_ms)
{
	int64_t hold_ms = app_of(c)->hold_ms;

	return clock_ms() + (wait_ms < hold_ms ? wait_ms : hold_ms);
}

void
app_hide_details(const struct call *c, struct err *e)
{
	const char *told = err_told(e);

	if (e->kind == ERR_INTERNAL) {
		err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "internal error; the operator finds it in the log under %s",
		    c->request_id);
	} else if (told != e->msg) {
		if (err_status(e) < 500) /* error.c has logged the others */
			log_err(LOG_WARN, "request_refused", e);
		err_set(e, e->kind, e->code, "%s", told);
	}
}
