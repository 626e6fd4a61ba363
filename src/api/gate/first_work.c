/* first_work.c: writes the first call of a generation to the history. */
#include "api/gate/first_work.h"

#include "common/log.h"
#include "common/str.h"

void
first_work_note(struct call *c, const struct rows *r)
{
	struct first_work *w = &app_of(c)->first_work;

	if (rows_null(r, 0, "first_by"))
		return;
	str_copy(w->session, sizeof(w->session), call_param(c, "SL_SESSION"));
	str_copy(w->generation, sizeof(w->generation),
	    rows_text(r, 0, "generation"));
	str_copy(w->trace, sizeof(w->trace), c->trace_id);
	str_copy(w->by, sizeof(w->by), rows_text(r, 0, "first_by"));
}

void
first_work_flush(struct app *app)
{
	struct first_work *w = &app->first_work;
	struct err e = { 0 };

	if (w->session[0] == '\0')
		return;
	if (STORE_RUN(app->store, STMT_SESSION_ACCEPTED, NULL, &e, w->session,
		w->generation, w->trace, w->by) < 0)
		log_err(LOG_WARN, "first_work", &e);
	w->session[0] = '\0';
}
