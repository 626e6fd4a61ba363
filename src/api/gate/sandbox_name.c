/* sandbox_name.c: names a session by the SDKs' header X-Sandbox-Name. */
#include "api/gate/sandbox_name.h"

#include <string.h>

#include "api/gate/access.h"
#include "common/log.h"
#include "common/mem.h"

enum { NAME_BYTES_MAX = 128 };

int
sandbox_name_check(const char *field, const char *name, struct err *e)
{
	if (!json_is_text(name) || strlen(name) > NAME_BYTES_MAX)
		return err_field(e, field, "must have 1 to %d bytes of UTF-8",
		    NAME_BYTES_MAX);
	for (const char *s = name; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return err_field(e, field,
			    "must not contain control characters");
	return 0;
}

bool
sandbox_name_given(const struct call *c)
{
	return call_param(c, "HTTP_X_SANDBOX_NAME")[0] != '\0';
}

enum err_code
sandbox_name_give(struct call *c, const struct rows *r)
{
	const char *name = call_param(c, "HTTP_X_SANDBOX_NAME");
	auto_free char *actor = NULL;
	struct err e = { 0 };

	if (!sandbox_name_given(c) || !rows_bool(r, 0, "nameless") ||
	    !access_scope_allows(rows_text(r, 0, "scope"), ACCESS_TENANT))
		return CODE_NONE;
	if (sandbox_name_check("X-Sandbox-Name", name, &e) < 0)
		return CODE_BAD_SANDBOX_NAME;
	actor = xasprintf("gate:%s/%s", rows_text(r, 0, "key_id"),
	    rows_text(r, 0, "user_id"));
	if (STORE_RUN(app_of(c)->store, STMT_SESSION_NAME, NULL, &e,
		call_param(c, "SL_SESSION"), name, c->trace_id, actor) == 0 ||
	    e.code == CODE_NAME_TAKEN)
		return CODE_NONE;
	log_err(LOG_ERROR, "session_name", &e);
	return CODE_DATABASE_UNAVAILABLE;
}
