/* session_problem.c: answers with an error that describes a session. */
#include "api/v1/session_problem.h"

#include "api/error.h"
#include "api/v1/session_json.h"
#include "control/start.h"
#include "domain/state.h"

int
session_problem(struct call *c, struct control *ctl, const char *id,
    struct err *e)
{
	auto_json json_t *s = NULL, *more = json_object();
	struct err ignored = { 0 };

	if (session_json_read(c, ctl, id, &s, &ignored) < 0)
		return -1;
	json_object_set_new(more, "session",
	    json_pack("{s:s, s:O, s:s}", "id", id, "name",
		json_object_get(s, "name"), "state", json_str(s, "state")));
	if (start_setup_failed(e))
		json_object_set(more, "setup", json_object_get(s, "setup"));
	error_render_native(c, e, more);
	return 0;
}

int
session_problem_replayed(struct call *c, struct control *ctl, const json_t *s,
    bool *told, struct err *e)
{
	enum session_state state = state_session_parse(json_str(s, "state"));
	const char *setup = json_str(json_object_get(s, "setup"), "state");

	*told = true;
	if (state_session_ends(state))
		err_set(e, ERR_GONE, CODE_SESSION_DELETED,
		    "the session that this Idempotency-Key made has been deleted; use another key for a new one");
	else if (state == SESSION_FAILED)
		err_set(e, ERR_CONFLICT,
		    str_equal(setup, "failed") ? CODE_SETUP_FAILED
					       : CODE_SESSION_FAILED,
		    "%s", json_str(s, "reason"));
	else
		*told = false;
	return *told ? session_problem(c, ctl, json_str(s, "id"), e) : 0;
}
