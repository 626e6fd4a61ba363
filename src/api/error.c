/* error.c: renders an error in the format of the API that the client used. */
#include "api/error.h"

#include "api/app.h"
#include "api/preview_page.h"
#include "common/log.h"
#include "web/error_page.h"
#include "web/reply.h"

/*
 * A refusal that is intended, or that a client causes, is no fault of the
 * service: the operator's log must not have an error for each such call.
 */
static enum log_level
level_of(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_DRAINING, CODE_OTHER_HOST,
		   CODE_TOO_MANY_AT_ONCE, CODE_WAKING, CODE_SESSION_FROZEN)
	    ? LOG_INFO
	    : LOG_ERROR;
}

void
error_render_native(struct call *c, struct err *e, const json_t *more)
{
	if (err_status(e) >= 500)
		log_err(level_of(e), "request_failed", e);
	app_hide_details(c, e);
	reply_problem(c, e, more);
}

void
error_render_container(struct call *c, struct err *e, enum err_code reason)
{
	auto_json json_t *context = json_pack("{s:s, s:b}", "reason",
	    code_word(reason), "retryable", 1);

	if (e->kind >= ERR_INTERNAL)
		log_err(level_of(e), "gate", e);
	app_hide_details(c, e);
	if (e->kind == ERR_BUSY || e->kind == ERR_UNAVAILABLE) {
		e->kind = ERR_UNAVAILABLE;
		e->code = CODE_CONTAINER_UNAVAILABLE;
		reply_container_error(c, e, context);
		return;
	}
	reply_container_error(c, e, NULL);
}

void
error_render_preview(struct call *c, struct err *e)
{
	if (err_status(e) >= 500)
		log_err(LOG_WARN, "preview", e);
	app_hide_details(c, e);
	call_header(c, "Vary", "Accept");
	if (error_page_wanted(call_param(c, "HTTP_ACCEPT")))
		preview_page_reply(c, e);
	else
		reply_preview_error(c, e);
}
