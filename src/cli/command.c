/* command.c: finds a command in the table, and lets it call another one. */
#include "cli/command.h"

#include "common/command_name.h"
#include "common/mem.h"
#include "common/str.h"

const struct command *
command_find(const struct command_table *t, int count, char *const *words,
    int *used)
{
	for (size_t i = 0; i < t->count; i++) {
		*used = command_name_match(t->rows[i].name, count, words);
		if (*used > 0)
			return &t->rows[i];
	}
	return NULL;
}

const char *
command_group(const struct command_table *t, const char *word)
{
	for (size_t i = 0; i < t->group_count; i++)
		if (str_equal(word, t->groups[i].word))
			return t->groups[i].help;
	return NULL;
}

struct config_choice
command_choice(const struct args *a)
{
	return (struct config_choice){ .url = args_value(a, "url"),
		.key_file = args_value(a, "api-key-file"),
		.profile = args_value(a, "profile") };
}

void
command_borrow(const struct cli *k, const char *name, int count,
    char **operands, struct cli *inner)
{
	auto_free char *word = xstrdup(name);
	char *const words[] = { word, NULL };
	int used;

	*inner = (struct cli){ .table = k->table,
		.client = k->client,
		.json = k->json };
	inner->args.command = command_find(k->table, 1, words, &used);
	inner->args.operand = operands;
	inner->args.operands = count;
	for (size_t i = 0; i < k->args.count; i++) {
		const struct given *g = &k->args.given[i];
		const struct option_row *r =
		    args_row(inner->args.command, g->row->name);

		/* "create --shell" is a flag, "shell --shell" has a value */
		if (r != NULL && (r->value != NULL) == (g->value != NULL))
			args_add(&inner->args, g->row->name, g->value);
	}
}
