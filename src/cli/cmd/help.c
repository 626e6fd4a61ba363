/* help.c: prints help texts from the table of commands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/help.h"
#include "cli/show.h"
#include "common/command_name.h"
#include "common/mem.h"
#include "common/nearest.h"

/* Names that other tools have for our commands. */
static const struct {
	const char *word, *command;
} SYNONYMS[] = { { "attach", "shell" }, { "config", "login" },
	{ "delete", "rm" }, { "describe", "show" }, { "destroy", "rm" },
	{ "events", "logs" }, { "forward", "port-forward" }, { "info", "show" },
	{ "inspect", "show" }, { "list", "ls" }, { "new", "create" },
	{ "pause", "sleep" }, { "remove", "rm" }, { "ssh", "shell" },
	{ "start", "resume" }, { "stop", "sleep" }, { "top", "stats" } };

void
help_commands(const struct command_table *t, const char *group, FILE *to)
{
	for (size_t i = 0; i < t->count; i++)
		if (!t->rows[i].hidden &&
		    (group == NULL || command_name_in(t->rows[i].name, group)))
			fprintf(to, "  %-15s %s\n", t->rows[i].name,
			    t->rows[i].help);
}

void
help_usage(const struct command_table *t, FILE *to)
{
	fputs("usage: sandlease [common options] COMMAND [options] ...\n", to);
	help_commands(t, NULL, to);
	fputs(
	    "\"sandlease COMMAND --help\" prints the options of a command.  An ID is the id\n"
	    "of a session, the beginning of its id, or its name.  \"sandlease login\" stores\n"
	    "the service's URL and your key; SANDLEASE_URL and SANDLEASE_API_KEY set them,\n"
	    "too.\n",
	    to);
}

/* The command that the user may have meant by `word`; NULL: none is close. */
static const char *
nearest_command(const struct command_table *t, const char *word)
{
	const char *best = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < ARRAY_LEN(SYNONYMS); i++)
		if (str_equal(word, SYNONYMS[i].word))
			return SYNONYMS[i].command;
	for (size_t i = 0; i < t->count; i++) {
		const char *name = t->rows[i].name;
		auto_free char *first =
		    xasprintf("%.*s", (int)strcspn(name, " "), name);
		size_t slips = nearest_distance(word, first);

		if (!t->rows[i].hidden && slips < least &&
		    nearest_is_close(word, first)) {
			least = slips;
			best = name;
		}
	}
	return best;
}

int
help_unknown(const struct command_table *t, int count, char *const *words,
    struct err *e)
{
	const char *near;

	if (command_group(t, words[0]) != NULL) {
		auto_buf struct buf all = { 0 };

		for (size_t i = 0; i < t->count; i++)
			if (command_name_in(t->rows[i].name, words[0]))
				buf_fmt(&all, " %s",
				    t->rows[i].name + strlen(words[0]) + 1);
		if (count < 2)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s needs one more word:%s", words[0], all.data);
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "\"%s %.40s\" is no command; %s has%s", words[0], words[1],
		    words[0], all.data);
	}
	near = nearest_command(t, words[0]);
	if (near == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "\"%.40s\" is no command; sandlease help lists them",
		    words[0]);
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "\"%.40s\" is no command; did you mean \"sandlease %s\"?", words[0],
	    near);
}

/* Prints the whole table as JSON, for programs. */
static void
print_table(const struct command_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct command *c = &t->rows[i];
		auto_json json_t *options = json_array(), *row = NULL;

		for (const struct option_row *r = c->options;
		     r != NULL && r->name != NULL; r++)
			json_array_append_new(options,
			    json_pack("{s:s, s:s#, s:s?, s:s}", "name", r->name,
				"letter", &r->letter, r->letter != 0 ? 1 : 0,
				"value", r->value, "help", r->help));
		row = json_pack("{s:s, s:s, s:s, s:b, s:O}", "name", c->name,
		    "operands", c->operands, "help", c->help, "hidden",
		    c->hidden, "options", options);
		show_json(row);
	}
}

int
cmd_help(struct cli *k, struct err *e)
{
	const struct command *cmd;
	int used;

	if (k->json) {
		print_table(k->table);
		return EXIT_SUCCESS;
	}
	if (k->args.operands == 0) {
		help_usage(k->table, stdout);
		return EXIT_SUCCESS;
	}
	cmd = command_find(k->table, k->args.operands, k->args.operand, &used);
	if (cmd != NULL && used == k->args.operands) {
		args_help(cmd, stdout);
		return EXIT_SUCCESS;
	}
	if (k->args.operands > 1 ||
	    command_group(k->table, k->args.operand[0]) == NULL)
		return help_unknown(k->table, k->args.operands, k->args.operand,
		    e);
	help_commands(k->table, k->args.operand[0], stdout);
	return EXIT_SUCCESS;
}
