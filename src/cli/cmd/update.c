/* update.c: interrupts commands; changes a session's times, variables, labels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/each.h"
#include "cli/duration.h"
#include "cli/http/sessions.h"
#include "cli/network.h"
#include "cli/pairs.h"
#include "cli/show.h"
#include "common/mem.h"

enum { SLEEP_MAX_S = 30 * 86400, RUN_MAX_S = 365 * 86400 };

/* ---- interrupt, extend */

/* Interrupts one command by its executionId. */
static int
cancel_one(struct cli *k, const char *id, const char *execution, struct err *e)
{
	auto_buf struct buf tail = { 0 };
	auto_json json_t *answer = NULL;

	buf_str(&tail, "/api/executions/");
	client_escape(&tail, execution, false);
	if (session_call(k->client, "DELETE", id, tail.data, NULL, &answer, e) <
	    0)
		return -1;
	if (k->json)
		show_json(answer);
	else
		printf("%s 1 interrupted\n", id);
	return 0;
}

static int
interrupt_one(struct cli *k, const char *id, struct err *e)
{
	const char *execution = args_value(&k->args, "execution");
	const char *shell = args_value(&k->args, "shell");
	auto_json json_t *body = json_object(), *answer = NULL;

	if (execution != NULL)
		return cancel_one(k, id, execution, e);
	if (shell != NULL)
		json_object_set_new(body, "sessionId", json_lossy(shell));
	if (session_call(k->client, "POST", id, "/interrupt", body, &answer,
		e) < 0)
		return -1;
	if (k->json)
		show_json(answer);
	else
		printf("%s %lld interrupted\n", id,
		    (long long)json_integer_value(
			json_object_get(answer, "interrupted")));
	return 0;
}

int
cmd_interrupt(struct cli *k, struct err *e)
{
	const char *execution = args_value(&k->args, "execution");

	if (execution != NULL && args_value(&k->args, "shell") != NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--execution names one command, so --shell has nothing to add");
	if (execution != NULL && execution[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--execution takes the id of a command");
	return each_session(k, interrupt_one, e);
}

/* Prints until when the session is alive, or the session as JSON. */
static int
print_alive(const struct cli *k, const json_t *s)
{
	const char *until = json_str(json_object_get(s, "alive"), "until");

	if (k->json)
		show_json(s);
	else
		printf("%s alive until %s\n", json_str(s, "id"),
		    until[0] != '\0' ? until : "further notice");
	return EXIT_SUCCESS;
}

int
cmd_extend(struct cli *k, struct err *e)
{
	auto_json json_t *body = NULL, *s = NULL;
	int64_t seconds = 0;
	char id[ID_MAX];

	if (duration_parse("TIME", k->args.operand[1], 1, SLEEP_MAX_S, &seconds,
		e) < 0 ||
	    session_find(k->client, k->args.operand[0], id, e) < 0)
		return -1;
	body = json_pack("{s:I}", "seconds", (json_int_t)seconds);
	if (session_call(k->client, "POST", id, "/extend", body, &s, e) < 0)
		return -1;
	return print_alive(k, s);
}

/* ---- update */

/* Options that set a member of the body to true, false or a time. */
static const struct {
	const char *option, *field;
	enum { YES, NO, TIME } kind;
	int64_t min, max;
} FIELDS[] = { { "keep-alive", "keepAlive", YES, 0, 0 },
	{ "no-keep-alive", "keepAlive", NO, 0, 0 },
	{ "suspend", "suspend", YES, 0, 0 },
	{ "no-suspend", "suspend", NO, 0, 0 },
	{ "sleep-after", "sleepAfterSeconds", TIME, 1, SLEEP_MAX_S },
	{ "max-run", "maxRunSeconds", TIME, 0, RUN_MAX_S } };

static int
add_fields(const struct args *a, json_t *body, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++) {
		auto_free char *name = xasprintf("--%s", FIELDS[i].option);
		int64_t seconds = 0;

		if (!args_has(a, FIELDS[i].option))
			continue;
		if (FIELDS[i].kind != TIME &&
		    json_object_get(body, FIELDS[i].field) != NULL)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s and its opposite exclude each other", name);
		if (FIELDS[i].kind == TIME &&
		    duration_parse(name, args_value(a, FIELDS[i].option),
			FIELDS[i].min, FIELDS[i].max, &seconds, e) < 0)
			return -1;
		json_object_set_new(body, FIELDS[i].field,
		    FIELDS[i].kind == TIME
			? json_integer(seconds)
			: json_boolean(FIELDS[i].kind == YES));
	}
	return 0;
}

static int
make_body(const struct args *a, json_t *body, struct err *e)
{
	const char *key;
	json_t *env;

	if (add_fields(a, body, e) < 0 ||
	    pairs_add(a, "env", body, "env", e) < 0 ||
	    network_add(a, body, e) < 0)
		return -1;
	if (args_value(a, "expires") != NULL)
		json_object_set_new(body, "expiresAt",
		    json_lossy(args_value(a, "expires")));
	for (size_t i = 0; (key = args_nth(a, "unset", i)) != NULL; i++) {
		if (json_object_get(body, "env") == NULL)
			json_object_set_new(body, "env", json_object());
		env = json_object_get(body, "env");
		if (json_object_set_new(env, key, json_null()) < 0)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "--unset: only UTF-8 can be sent");
	}
	if (json_object_size(body) == 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "say what to change; sandlease update --help lists the options");
	return 0;
}

int
cmd_update(struct cli *k, struct err *e)
{
	auto_json json_t *body = json_object(), *s = NULL;
	char id[ID_MAX];

	if (make_body(&k->args, body, e) < 0 ||
	    session_find(k->client, k->args.operand[0], id, e) < 0 ||
	    session_call(k->client, "PATCH", id, "", body, &s, e) < 0)
		return -1;
	return print_alive(k, s);
}

/* ---- label */

static int
add_label(json_t *labels, const char *word, struct err *e)
{
	auto_free char *key = xstrdup(word);
	char *equals = strchr(key, '=');
	size_t len = strlen(key);
	bool gone = equals == NULL && len > 1 && key[len - 1] == '-';

	if (gone)
		key[len - 1] = '\0';
	else if (equals == NULL || equals == key)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a label is KEY=VALUE, or KEY- to take it away, not \"%.60s\"",
		    word);
	else
		*equals++ = '\0';
	if (json_object_set_new(labels, key,
		gone ? json_null() : json_string(equals)) < 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "labels: only UTF-8 can be sent");
	return 0;
}

int
cmd_label(struct cli *k, struct err *e)
{
	auto_json json_t *labels = json_object(), *body = NULL, *s = NULL;
	const char *key;
	char id[ID_MAX];
	json_t *value;

	for (int i = 1; i < k->args.operands; i++)
		if (add_label(labels, k->args.operand[i], e) < 0)
			return -1;
	body = json_pack("{s:O}", "labels", labels);
	if (session_find(k->client, k->args.operand[0], id, e) < 0 ||
	    session_call(k->client, "PATCH", id, "", body, &s, e) < 0)
		return -1;
	if (k->json) {
		show_json(s);
		return EXIT_SUCCESS;
	}
	json_object_foreach(json_object_get(s, "labels"), key, value)
	{
		show_field(key, "%s", json_string_value(value));
	}
	return EXIT_SUCCESS;
}
