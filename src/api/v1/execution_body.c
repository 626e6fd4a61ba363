/* execution_body.c: reads the bodies that make executions. */
#include "api/v1/execution_body.h"

#include <string.h>

#include "api/v1/files_body.h"
#include "api/v1/keys_body.h"
#include "api/v1/session_body.h"
#include "common/glob.h"
#include "common/mem.h"
#include "common/quote.h"
#include "domain/state.h"

enum {
	RETRIES_MAX = 10,
	ENV_MAX = 256,
	FILES_MAX = 100,
	COLLECT_MAX = 100,
	CONTEXT_MEMBERS_MAX = 10000
};

#define CONTEXT_PATH ".sandlease/context.json"

static const char *const CLEANUP_NAMES[] = { "keep", "on_completion", NULL };

/* clang-format off */
#define F(name, member, type, min, max, help) \
	JFIELD(name, struct execution_body, member, type, 0, min, max, help)

#define FIELDS(limit_count) \
	F("command", command, J_STR, 1, EXECUTION_COMMAND_MAX, "run by bash; this or argv"), \
	JFIELD("argv", struct execution_body, argv, J_ARR, J_OF_STRINGS, 1, EXECUTION_ARGV_MAX, "a program and its words, without a shell"), \
	F("cwd", cwd, J_STR, 1, 1024, "directory, `/workspace` without it"), \
	F("env", env, J_OBJ, 0, ENV_MAX, "environment of this execution; sealed, never returned"), \
	F("context", context, J_OBJ, 0, CONTEXT_MEMBERS_MAX, "written to `/workspace/.sandlease/context.json` before it runs"), \
	F("files", files, J_ARR, 0, FILES_MAX, "[{path, content | contentBase64, mode, secret}], written before it runs; a secret one has mode 0600 and is removed afterwards"), \
	JFIELD("collect", struct execution_body, collect, J_ARR, J_OF_STRINGS, 0, COLLECT_MAX, "patterns of files below `/workspace`, as `dist/**`, that are kept when it has ended"), \
	JFIELD_OBJ("limits", struct execution_body, limits, 0, 6, LIMITS_FIELDS, limit_count, "{memoryMb, cpuSeconds, wallSeconds, pids, diskMb}: its own, at most the session's"), \
	F("taskId", task_id, J_STR, 1, 255, "a second request with it finds the first execution"), \
	F("maxRetries", max_retries, J_INT, 0, RETRIES_MAX, "further attempts if its sandbox is lost, 3 without it; a command that fails is not tried again")

const struct jfield EXECUTION_FIELDS[] = {
	F("agentType", agent_type, J_STR, 1, AGENT_TYPE_MAX - 1, "whose profile has its limits; without it, the session's"),
	FIELDS(LIMITS_EXECUTION_COUNT),
};

const struct jfield RUN_FIELDS[] = {
	JFIELD("agentType", struct execution_body, agent_type, J_STR, J_REQUIRED, 1, AGENT_TYPE_MAX - 1, "whose profile has its limits, its network and, if the request has none, its command"),
	FIELDS(LIMITS_FIELD_COUNT),
	JFIELD("correlationKeys", struct execution_body, correlation_keys, J_ARR, J_OF_STRINGS, 1, CORRELATION_GIVEN_MAX, "runs in the session that has one of them, else in a new one that gets them"),
	JFIELD_ENUM("cleanup", struct execution_body, cleanup, 0, CLEANUP_NAMES, "whether the session is deleted after its last execution; without it, a session that is made for this one is"),
	F("network", network, J_OBJ, 0, 3, "{mode, allow, maxRequests}: what its session may connect to; without it, as its profile or the org says"),
	JFIELD_ENUM("isolation", struct execution_body, isolation, 0, ISOLATION_NAMES, "of a new session: a sandbox of its own, or the owner's shared one"),
	F("class", class_name, J_STR, 1, 64, "of a new session, only together with isolation: session"),
};
/* clang-format on */
const size_t EXECUTION_FIELD_COUNT = ARRAY_LEN(EXECUTION_FIELDS);
const size_t RUN_FIELD_COUNT = ARRAY_LEN(RUN_FIELDS);

const char *
execution_body_cleanup(const struct execution_body *b)
{
	return b->cleanup < 0 ? "" : CLEANUP_NAMES[b->cleanup];
}

static int
check_argv(const json_t *argv, struct err *e)
{
	for (size_t i = 0; i < json_array_size(argv); i++) {
		const json_t *word = json_array_get(argv, i);

		if (strlen(json_string_value(word)) != json_string_length(word))
			return err_field(e, "argv", "must not contain NUL");
	}
	if (argv != NULL && json_string_length(json_array_get(argv, 0)) == 0)
		return err_field(e, "argv", "must begin with a program");
	return 0;
}

static bool
leads_upwards(const char *pattern)
{
	while (*pattern != '\0') {
		size_t len = strcspn(pattern, "/");

		if (len == 2 && strncmp(pattern, "..", 2) == 0)
			return true;
		pattern += len;
		pattern += strspn(pattern, "/");
	}
	return false;
}

static int
check_collect(const json_t *collect, struct err *e)
{
	for (size_t i = 0; i < json_array_size(collect); i++) {
		const json_t *v = json_array_get(collect, i);
		const char *pattern = json_string_value(v);
		const char *why = glob_fault(pattern);

		if (strlen(pattern) != json_string_length(v))
			why = "must not contain NUL";
		else if (pattern[0] == '/')
			why = "must be relative to /workspace";
		else if (leads_upwards(pattern))
			why = "must not have a part ..";
		if (why != NULL)
			return err_field(e, "collect", "\"%.60s\" %s", pattern,
			    why);
	}
	return 0;
}

static int
check_fields(const json_t *json, const struct jfield *fields, size_t count,
    struct execution_body *b, struct err *e)
{
	*b = (struct execution_body){ .max_retries = -1,
		.isolation = -1,
		.cleanup = -1 };
	if (jfield_decode(json, fields, count, 0, b, e) < 0 ||
	    check_argv(b->argv, e) < 0 || check_collect(b->collect, e) < 0 ||
	    body_check_env(b->env, false, e) < 0 ||
	    files_body_check(b->files, FILES_SECRET, &b->files_in_root, e) <
		0 ||
	    (b->limits != NULL && limits_check(b->limits, "limits", e) < 0))
		return -1;
	if (b->command[0] != '\0' && b->argv != NULL)
		return err_field(e, "argv", "give either command or argv");
	if (b->agent_type[0] != '\0' && !limits_is_agent_type(b->agent_type))
		return err_field(e, "agentType",
		    "must have 1 to %d letters, digits and ._-",
		    AGENT_TYPE_MAX - 1);
	return 0;
}

int
execution_body_read(struct call *c, struct execution_body *b, json_t **json,
    struct err *e)
{
	if (call_json(c, BODY_MAX, json, e) < 0 ||
	    check_fields(*json, EXECUTION_FIELDS, EXECUTION_FIELD_COUNT, b, e) <
		0)
		return -1;
	if (b->command[0] == '\0' && b->argv == NULL)
		return err_field(e, "command", "give either command or argv");
	if (json_object_get(b->limits, "networkRequests") != NULL)
		return err_field(e, "limits.networkRequests",
		    "is a limit of the session, not of one execution in it");
	return 0;
}

/* A context may have the command. */
static int
read_context_command(struct execution_body *b, struct err *e)
{
	const json_t *command = json_object_get(b->context, "command");

	if (b->command[0] != '\0' || b->argv != NULL || command == NULL)
		return 0;
	if (!json_is_string(command) || json_string_length(command) == 0 ||
	    json_string_length(command) > EXECUTION_COMMAND_MAX ||
	    strlen(json_string_value(command)) != json_string_length(command))
		return err_field(e, "context.command",
		    "must be a string of 1 to %d bytes", EXECUTION_COMMAND_MAX);
	str_copy(b->command, sizeof(b->command), json_string_value(command));
	return 0;
}

int
run_body_check(json_t *json, struct execution_body *b, struct err *e)
{
	if (check_fields(json, RUN_FIELDS, RUN_FIELD_COUNT, b, e) < 0 ||
	    read_context_command(b, e) < 0 ||
	    keys_check(b->correlation_keys, "correlationKeys", e) < 0 ||
	    body_check_network(json, &b->network, e) < 0)
		return -1;
	if (b->class_name[0] != '\0' && b->isolation != ISOLATION_SESSION)
		return err_field(e, "class",
		    "can be chosen only together with isolation: session");
	return 0;
}

int
run_body_read(struct call *c, struct execution_body *b, json_t **json,
    struct err *e)
{
	if (call_json(c, BODY_MAX, json, e) < 0)
		return -1;
	return run_body_check(*json, b, e);
}

/* All files that the agent writes; the context is one of them. */
static json_t *
all_files(const struct execution_body *b)
{
	json_t *all = b->files != NULL
	    ? json_copy((json_t *)(uintptr_t)b->files)
	    : json_array();

	if (b->context != NULL) {
		auto_free char *text = json_text(b->context);

		json_array_append_new(all,
		    json_pack("{s:s, s:s, s:i}", "path", CONTEXT_PATH,
			"content", text, "mode", 0600));
	}
	return all;
}

json_t *
execution_body_work(const struct execution_body *b)
{
	json_t *env = b->env != NULL ? json_copy((json_t *)(uintptr_t)b->env)
				     : json_object();

	if (b->task_id[0] != '\0')
		json_object_set_new(env, "SANDLEASE_TASK_ID",
		    json_string(b->task_id));
	if (b->agent_type[0] != '\0')
		json_object_set_new(env, "SANDLEASE_AGENT_TYPE",
		    json_string(b->agent_type));
	if (b->context != NULL)
		json_object_set_new(env, "SANDLEASE_CONTEXT",
		    json_string("/workspace/" CONTEXT_PATH));
	return json_pack("{s:s*, s:O*, s:s*, s:o, s:o, s:O*}", "command",
	    b->command[0] != '\0' ? b->command : NULL, "argv", b->argv, "cwd",
	    b->cwd[0] != '\0' ? b->cwd : NULL, "env", env, "files",
	    all_files(b), "collect", b->collect);
}

char *
execution_body_shown(const struct execution_body *b)
{
	auto_buf struct buf line = { 0 };

	if (b->argv == NULL)
		return xstrdup(b->command);
	for (size_t i = 0; i < json_array_size(b->argv); i++) {
		if (i > 0)
			buf_str(&line, " ");
		quote_word(&line,
		    json_string_value(json_array_get(b->argv, i)));
	}
	return xstrdup(line.data);
}
