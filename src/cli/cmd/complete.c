/*
 * complete.c: prints the words that may follow, for completion in shells.
 *
 * sandlease complete WORD...: the words after "sandlease"; the last one is
 * being typed.  Prints a line "word<TAB>description" for each word that begins
 * with it.  The line ":files" asks the shell for file names.  Errors are not
 * printed: they would disturb the line that the user types.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/show.h"
#include "common/mem.h"

struct typed {
	const struct command_table *table;
	char **words;
	int count;       /* of words */
	int skip;        /* how many are common options before the command */
	const char *now; /* the last word, which is incomplete */
	struct client *client;
	const char *session; /* the first operand, to offer its ports and
				processes; NULL: not typed yet */
};

/* Words with other characters are not offered.  Another user may have chosen
 * the name of a session, and the shell would execute $(...) in it. */
static const char OFFERED[] = "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-_.,:=+@%/";

static void
offer(const struct typed *t, const char *word, const char *what)
{
	if (!str_starts(word, t->now) || word[strspn(word, OFFERED)] != '\0')
		return;
	show_text(word, stdout);
	putchar('\t');
	show_text(what, stdout);
	putchar('\n');
}

/* ---- words from the service */

static struct client *
connect_quietly(const struct typed *t)
{
	struct config_choice choice = { 0 };
	struct config config;
	static const char *const NAMES[] = { "--url", "--profile",
		"--api-key-file" };
	const char **values[] = { &choice.url, &choice.profile,
		&choice.key_file };
	struct client *c;
	struct err e;

	for (int i = 0; i + 1 < t->count; i++)
		for (size_t k = 0; k < ARRAY_LEN(NAMES); k++)
			if (str_equal(t->words[i], NAMES[k]))
				*values[k] = t->words[i + 1];
	if (config_load(&choice, &config, &e) < 0) {
		config_free(&config);
		return NULL;
	}
	c = client_new(&config);
	client_try(c);
	return c;
}

struct offering {
	struct typed *typed;
	const char *suffix;
};

static int
offer_session(void *ctx, json_t *s, struct err *e)
{
	const struct offering *o = ctx;
	const char *name = json_str(s, "name");
	auto_free char *id = xasprintf("%s%s", json_str(s, "id"), o->suffix);
	auto_free char *what = xasprintf("%s %s", json_str(s, "state"), name);

	(void)e;
	offer(o->typed, id, what);
	if (name[0] != '\0' && strchr(name, ':') == NULL) {
		auto_free char *named = xasprintf("%s%s", name, o->suffix);

		offer(o->typed, named, json_str(s, "state"));
	}
	return 0;
}

static void
offer_sessions(struct typed *t, const char *suffix)
{
	struct offering o = { t, suffix };
	struct err e;

	(void)!session_each(t->client, "", offer_session, &o, &e);
}

/* Calls `tail` of the session, and offers member `key` of the objects in
 * answer[list], with member `what` as description. */
static void
offer_inside(struct typed *t, const char *tail, const char *list,
    const char *key, const char *what)
{
	auto_json json_t *answer = NULL;
	const json_t *o;
	char id[ID_MAX];
	struct err e;
	size_t i;

	if (t->session == NULL ||
	    session_find(t->client, t->session, id, &e) < 0 ||
	    session_call(t->client, "GET", id, tail, NULL, &answer, &e) < 0)
		return;
	json_array_foreach(json_object_get(answer, list), i, o)
	{
		const json_t *v = json_object_get(o, key);
		char number[24] = "";

		if (json_is_integer(v))
			snprintf(number, sizeof(number), "%lld",
			    (long long)json_integer_value(v));
		offer(t, json_is_integer(v) ? number : json_str(o, key),
		    json_str(o, what));
	}
}

static void
offer_snapshots(const struct typed *t)
{
	auto_json json_t *answer = NULL;
	const json_t *s;
	struct err e;
	size_t i;

	if (client_call(t->client, "GET", "/v1/snapshots", NULL, &answer, &e) <
	    0)
		return;
	json_array_foreach(json_object_get(answer, "snapshots"), i, s)
	{
		offer(t, json_str(s, "id"), json_str(s, "name"));
	}
}

/* ---- words for an operand or value of the table, such as "ID" */

/*
 * Offers names of commands.  `count` words of a name are typed, the last one
 * incomplete: 1 offers first words, 2 the second words after the first.
 */
static void
complete_names(const struct typed *t, int count)
{
	const char *before = "";

	for (size_t i = 0; i < t->table->count; i++) {
		const struct command *c = &t->table->rows[i];
		const char *name = c->name;
		auto_free char *first =
		    xasprintf("%.*s", (int)strcspn(name, " "), name);
		bool two = strlen(first) < strlen(name);

		if (c->hidden)
			continue;
		if (count == 2 && two &&
		    str_equal(first, t->words[t->count - 2]))
			offer(t, name + strlen(first) + 1, c->help);
		if (count != 1 || (two && str_starts(before, first)))
			continue;
		before = name;
		offer(t, first, two ? command_group(t->table, first) : c->help);
	}
}

static void
offer_states(struct typed *t)
{
	static const char *const STATES[] = { "initializing", "ready",
		"sleeping", "asleep", "deleting", "deleted", "failed", "lost" };

	for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
		offer(t, STATES[i], "state");
}

static void
offer_presets(const struct typed *t)
{
	auto_json json_t *answer = NULL;
	const json_t *p;
	struct err e;
	size_t i;

	if (client_call(t->client, "GET", "/v1/presets", NULL, &answer, &e) < 0)
		return;
	json_array_foreach(json_object_get(answer, "presets"), i, p)
	{
		auto_free char *word = xasprintf("@%s", json_str(p, "name"));

		offer(t, word, "preset");
	}
}

static void
offer_kind(struct typed *t, const char *kind)
{
	if (str_starts(kind, "STATE"))
		offer_states(t);
	else if (str_starts(kind, "MODE")) {
		offer(t, "none", "no network");
		offer(t, "open", "every public address");
	} else if (str_starts(kind, "FILE") || str_starts(kind, "DIR"))
		puts(":files");
	else if (str_starts(kind, "TOPIC"))
		complete_names(t, t->count - t->skip - 1);
	if (t->client == NULL)
		t->client = connect_quietly(t);
	if (t->client == NULL)
		return;
	if (str_starts(kind, "ID"))
		offer_sessions(t, "");
	else if (str_starts(kind, "SNAPSHOT"))
		offer_snapshots(t);
	else if (str_starts(kind, "HOST|"))
		offer_presets(t);
	else if (str_starts(kind, "PORT"))
		offer_inside(t, "/ports", "ports", "port", "name");
	else if (str_starts(kind, "PROCESS"))
		offer_inside(t, "/api/process/list", "processes", "id",
		    "command");
	else if (str_starts(kind, "SOURCE") || str_starts(kind, "TARGET")) {
		puts(":files");
		offer_sessions(t, ":");
	}
}

/* The n-th word of "ID [PROCESS]", without its '['; "" after the last one. */
static const char *
operand_word(const char *operands, int n)
{
	const char *last = operands;

	while (*operands != '\0' && n-- > 0) {
		last = operands;
		operands += strcspn(operands, " ");
		operands += strspn(operands, " ");
	}
	if (*operands == '\0' && strstr(last, "...") != NULL)
		operands = last;
	return operands + (*operands == '[');
}

static void
offer_options(const struct typed *t, const struct command *cmd)
{
	const struct option_row *rows[] = { cmd->options, COMMON_OPTIONS };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		for (const struct option_row *r = rows[i];
		     r != NULL && r->name != NULL; r++) {
			auto_free char *word = xasprintf("--%s", r->name);

			offer(t, word, r->help);
		}
}

/* The option `word` if its value must follow; NULL: no value follows. */
static const struct option_row *
option_with_value(const struct command *cmd, const char *word)
{
	const struct option_row *r = NULL;

	if (str_starts(word, "--")) {
		r = args_row(cmd, word + 2);
	} else if (word[0] == '-' && word[1] != '\0') {
		for (r = cmd->options; r != NULL && r->name != NULL; r++)
			if (r->letter == word[strlen(word) - 1])
				break;
		if (r != NULL && r->name == NULL)
			r = NULL;
	}
	return r != NULL && r->value != NULL ? r : NULL;
}

static void
complete_command(struct typed *t, const struct command *cmd, int used)
{
	const struct option_row *pending = NULL;
	int operands = 0;

	for (int i = t->skip + used; i + 1 < t->count; i++) {
		const char *w = t->words[i];

		if (pending != NULL) {
			pending = NULL;
		} else if (w[0] != '-' || w[1] == '\0') {
			if (operands++ == 0)
				t->session = w;
			if (cmd->passes_codes)
				return; /* the words of another command */
		} else {
			pending = option_with_value(cmd, w);
		}
	}
	if (pending != NULL)
		offer_kind(t, pending->value);
	else if (t->now[0] == '-')
		offer_options(t, cmd);
	else
		offer_kind(t, operand_word(cmd->operands, operands));
}

int
cmd_complete(struct cli *k, struct err *e)
{
	static const struct command NONE = { .name = "" };
	struct typed t = { .table = k->table,
		.words = k->args.operand,
		.count = k->args.operands };
	const struct command *cmd;
	int used;

	if (t.count == 0)
		return EXIT_SUCCESS;
	t.now = t.words[t.count - 1];
	if (args_before(t.count - 1, t.words, &t.skip, e) < 0)
		return EXIT_SUCCESS; /* the user types an option's value */
	cmd = command_find(k->table, t.count - t.skip - 1, t.words + t.skip,
	    &used);
	if (cmd != NULL)
		complete_command(&t, cmd, used);
	else if (t.now[0] == '-' && t.count == t.skip + 1)
		offer_options(&t, &NONE);
	else
		complete_names(&t, t.count - t.skip);
	client_free(t.client);
	return EXIT_SUCCESS;
}
