/* context.c: handles api/contexts and GET api/interpreter/health. */
#include <stdio.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/code/context.h"
#include "agent/shell/envset.h"
#include "common/mem.h"
#include "web/reply.h"

enum { BODY_MAX = 1024 * 1024 };

struct create {
	char language[32];
	char cwd[SHELL_PATH_MAX];
	const json_t *env;
};

static const struct jfield CREATE[] = {
	JFIELD("language", struct create, language, J_STR, 0, 1, 31,
	    "python, javascript or typescript"),
	JFIELD("cwd", struct create, cwd, J_STR, 0, 1, SHELL_PATH_MAX - 1,
	    "directory of its code"),
	JFIELD("env_vars", struct create, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables in addition to the session's"),
};

int
api_context_health(struct call *c, struct err *e)
{
	json_t *languages = json_object();
	bool any = false;

	(void)e;
	for (int l = 0; l < KERNEL__MAX; l++) {
		bool there = kernel_available((enum kernel_language)l);

		any = any || there;
		json_object_set_new(languages,
		    kernel_name((enum kernel_language)l), json_boolean(there));
	}
	return reply_container(c,
	    json_pack("{s:s, s:o}", "status", any ? "healthy" : "unhealthy",
		"languages", languages));
}

/* A relative `cwd` is one below /workspace: makes it absolute. */
static int
make_cwd_absolute(char cwd[SHELL_PATH_MAX], struct err *e)
{
	static const char HOME[] = "/workspace";
	size_t len = strlen(cwd), home = sizeof(HOME) - 1;

	if (cwd[0] == '/')
		return 0;
	if (len + home + 2 > SHELL_PATH_MAX)
		return err_field(e, "cwd", "is too long");
	memmove(cwd + home + 1, cwd, len + 1);
	memcpy(cwd, HOME, home);
	cwd[home] = '/';
	return 0;
}

static int
decode_body(struct call *c, json_t **body, struct create *o,
    struct kernel_place *at, struct err *e)
{
	if (request_body(c, BODY_MAX, body, e) < 0 ||
	    jfield_decode(*body, CREATE, ARRAY_LEN(CREATE), J_LENIENT, o, e) <
		0 ||
	    envset_check(o->env, "env_vars", e) < 0 ||
	    make_cwd_absolute(o->cwd, e) < 0)
		return -1;
	*at = (struct kernel_place){ .language = kernel_language(o->language),
		.cwd = o->cwd,
		.env = o->env };
	if (at->language == KERNEL__MAX)
		return err_field(e, "language",
		    "must be python, javascript or typescript");
	return 0;
}

int
api_context_create(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct create o = { .language = "python", .cwd = "/workspace" };
	struct kernel_place at;
	struct context *x;

	if (decode_body(c, &body, &o, &at, e) < 0)
		return -1;
	if (context_create(&at, &x, e) < 0)
		return e->code == CODE_BAD_CWD
		    ? err_field(e, "cwd", "cannot be entered")
		    : -1;
	reply_container(c,
	    json_pack("{s:s, s:s, s:s}", "contextId", context_id(x), "language",
		context_language(x), "cwd", context_cwd(x)));
	context_release(x);
	return 0;
}

int
api_context_list(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:o}", "contexts", context_list()));
}

int
api_context_delete(struct call *c, struct err *e)
{
	const char *id = call_var(c, "id");

	request_context(c, json_pack("{s:o}", "contextId", json_lossy(id)));
	if (context_delete(id, e) < 0)
		return -1;
	return reply_container(c, json_pack("{s:s}", "contextId", id));
}
