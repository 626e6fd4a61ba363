/* refusals.c: makes an error of the word with which the gate refused. */
#include "api/gate/refusals.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/control.h"

struct refusal {
	enum err_code code;
	enum err_kind kind;
	const char *message;
};

/* clang-format off */
static const struct refusal REFUSALS[] = {
	{ CODE_UNAUTHORIZED,         ERR_UNAUTHENTICATED, "a valid API key is needed: Authorization: Bearer KEY, or X-API-Key" },
	{ CODE_INVALID_TICKET,       ERR_UNAUTHENTICATED, "the ticket is unknown, used, expired, or for another WebSocket; make a new one" },
	{ CODE_FORBIDDEN,            ERR_DENIED,          "this key's scope does not allow this call" },
	{ CODE_ORIGIN_MISMATCH,      ERR_DENIED,          "a call with the dashboard's cookie must come from the dashboard" },
	{ CODE_SESSION_NOT_FOUND,    ERR_NOT_FOUND,       "there is no such session" },
	{ CODE_SESSION_DELETING,     ERR_CONFLICT,        "the session is being deleted" },
	{ CODE_SESSION_DELETED,      ERR_GONE,            "the session was deleted" },
	{ CODE_SESSION_FAILED,       ERR_CONFLICT,        "the session could not be started; resume or delete it" },
	{ CODE_SESSION_ASLEEP,       ERR_CONFLICT,        "the session does not run, and a probe does not start it" },
	{ CODE_SESSION_LOST,         ERR_GONE,            "the session's files are gone; it can only be deleted" },
	{ CODE_VALIDATION_FAILED,    ERR_INVALID,         "the request is not for this session" },
	{ CODE_BAD_SANDBOX_NAME,     ERR_INVALID,         "X-Sandbox-Name must have 1 to 128 bytes of UTF-8 and no control characters" },
	{ CODE_PORT_NOT_EXPOSED,     ERR_NOT_FOUND,       "the port is not exposed" },
	{ CODE_SESSION_FROZEN,       ERR_UNAVAILABLE,     "the host's disk is nearly full: the session is frozen until there is room" },
	{ CODE_INVALID_TOKEN,        ERR_NOT_FOUND,       "Access denied: Invalid token or port not exposed" },
	{ CODE_STALE_PREVIEW_URL,    ERR_GONE,            "Preview URL is stale because the sandbox runtime is not active" },
	{ CODE_DATABASE_UNAVAILABLE, ERR_UNAVAILABLE,     "the database cannot be reached" },
};
/* clang-format on */

void
refusal_read(const char *why, struct err *e)
{
	const char *other_host = code_word(CODE_OTHER_HOST);
	size_t len = strlen(other_host);
	enum err_code code = code_parse(why);

	err_set(e, ERR_INTERNAL, CODE_INTERNAL,
	    "the gate refused with an unknown reason: \"%.80s\"", why);
	if (str_starts(why, other_host) && why[len] == ':')
		control_other_host(why + len + 1, e);
	for (size_t i = 0; i < ARRAY_LEN(REFUSALS); i++)
		if (REFUSALS[i].code == code)
			err_set(e, REFUSALS[i].kind, REFUSALS[i].code, "%s",
			    REFUSALS[i].message);
}
