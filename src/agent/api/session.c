/* session.c: creates, lists and deletes shells (api/session/...). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/shell/envset.h"
#include "agent/shell/exec.h"
#include "agent/shell/shell.h"
#include "common/clock.h"
#include "common/id.h"
#include "common/mem.h"
#include "web/reply.h"

enum { BODY_MAX = 1024 * 1024 };

struct create {
	int64_t timeout_ms;
	char cwd[SHELL_PATH_MAX];
	const json_t *env;
};

static const struct jfield CREATE[] = {
	JFIELD("env", struct create, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables for its commands"),
	JFIELD("cwd", struct create, cwd, J_STR, 0, 0, SHELL_PATH_MAX - 1,
	    "its first directory"),
	JFIELD("commandTimeoutMs", struct create, timeout_ms, J_INT, 0, 0,
	    SHELL_TIMEOUT_MS_MAX, "limit for commands without timeoutMs"),
};

/* Makes a name for a shell whose client gives none. */
static void
make_name(char out[SHELL_NAME_MAX])
{
	char random[ID_REQUEST_LEN + 1];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	id_random(random, ID_REQUEST_LEN);
	snprintf(out, SHELL_NAME_MAX, "session_%" PRId64 "_%.6s",
	    (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, random);
}

static int
decode_name(const json_t *body, const char *member, char out[SHELL_NAME_MAX],
    struct err *e)
{
	const char *given;

	if (request_text(body, member, 1, SHELL_NAME_MAX - 1, &given, e) < 0)
		return -1;
	if (given[strspn(given, " \t\r\n\v\f")] == '\0')
		return err_field(e, member, "must not be blank");
	str_copy(out, SHELL_NAME_MAX, given);
	return 0;
}

static void
reply_created(struct call *c, const char *name, const struct create *o)
{
	auto_json json_t *body = NULL;
	char at[CLOCK_ISO_MAX];
	json_t *data = json_pack("{s:s, s:s}", "id", name, "cwd",
	    str_empty(o->cwd) ? "/workspace" : o->cwd);

	if (o->timeout_ms > 0)
		json_object_set_new(data, "commandTimeoutMs",
		    json_integer(o->timeout_ms));
	clock_iso(at);
	json_object_set_new(data, "createdAt", json_string(at));
	body = json_pack("{s:b, s:s, s:s, s:o, s:s, s:n}", "success", 1, "id",
	    name, "message", "Session created", "data", data, "timestamp", at,
	    "containerPlacementId");
	call_reply(c, 200, body);
}

int
api_session_create(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct create o = { 0 };
	char name[SHELL_NAME_MAX];

	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	if (json_object_get(body, "id") == NULL)
		make_name(name);
	else if (decode_name(body, "id", name, e) < 0)
		return -1;
	request_context(c, json_pack("{s:s}", "sessionId", name));
	if (str_equal(name, EXEC_SESSIONLESS))
		return err_field(e, "id", "is a reserved name");
	if (jfield_decode(body, CREATE, ARRAY_LEN(CREATE), J_LENIENT, &o, e) <
		0 ||
	    envset_check(o.env, "env", e) < 0 ||
	    shell_create(name,
		&(struct shell_options){ .env = o.env,
		    .cwd = o.cwd,
		    .timeout_ms = o.timeout_ms },
		e) < 0)
		return -1;
	reply_created(c, name, &o);
	return 0;
}

int
api_session_list(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c, json_pack("{s:o}", "data", shell_list()));
}

int
api_session_delete(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	char name[SHELL_NAME_MAX];

	if (request_body(c, BODY_MAX, &body, e) < 0 ||
	    decode_name(body, "sessionId", name, e) < 0)
		return -1;
	request_context(c, json_pack("{s:s}", "sessionId", name));
	if (shell_delete(name, e) < 0)
		return -1;
	return reply_container(c, json_pack("{s:s}", "sessionId", name));
}
