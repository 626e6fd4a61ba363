/* args.c: parses the options and operands of a command by its row. */
#include "admin/args.h"

#include <stdlib.h>
#include <string.h>

#include "common/str.h"

/* The option `name` as given, or NULL.  Aborts if the command's row has no such
 * option: that is a bug. */
static const struct given *
find_given(const struct admin *a, const char *name)
{
	if (command_option(a->command, name, strlen(name)) == NULL)
		abort();
	for (size_t i = 0; i < a->given_count; i++)
		if (str_equal(a->given[i].name, name))
			return &a->given[i];
	return NULL;
}

const char *
admin_option(const struct admin *a, const char *name)
{
	const struct given *g = find_given(a, name);

	return g != NULL ? g->value : NULL;
}

bool
admin_flag(const struct admin *a, const char *name)
{
	return find_given(a, name) != NULL;
}

const char *
admin_argument(struct admin *a)
{
	if (a->argc == 0)
		return NULL;
	a->argc--;
	return *a->argv++;
}

int
admin_no_more(struct admin *a, struct err *e)
{
	if (a->argc == 0)
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "%s: %s is one word too many", a->command->words, a->argv[0]);
}

int
admin_usage(const struct admin *a, struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "usage: sandlease-admin %s %s; --help prints its options",
	    a->command->words, a->command->operands);
}

int
admin_unknown_org(const char *org, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_ORG_NOT_FOUND,
	    "%s: there is no such org; its first key creates an org", org);
}

int
admin_only_argument(struct admin *a, const char **out, struct err *e)
{
	*out = admin_argument(a);
	if (str_empty(*out))
		return admin_usage(a, e);
	return admin_no_more(a, e);
}

/* Parses the option argv[*i]; moves *i to its value if that is the next word. */
static int
parse_option(struct admin *a, int argc, char **argv, int *i, struct err *e)
{
	const char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const char *value = word[len] == '=' ? word + len + 1 : NULL;
	const struct option_row *o = command_option(a->command, word, len);

	if (o == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: there is no option %.*s", a->command->words, (int)len,
		    word);
	if (find_given(a, o->name) != NULL ||
	    a->given_count == ADMIN_OPTIONS_MAX)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: %s is given twice", a->command->words, o->name);
	if (o->value == NULL && value != NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: %s takes no value", a->command->words, o->name);
	if (o->value != NULL && value == NULL) {
		if (*i + 1 == argc)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s: %s needs a value: %s", a->command->words,
			    o->name, o->value);
		value = argv[++*i];
	}
	a->given[a->given_count++] = (struct given){ o->name, value };
	return 0;
}

int
args_parse(const struct command *c, int argc, char **argv, struct admin *a,
    struct err *e)
{
	bool options = true;

	a->command = c;
	a->argc = 0;
	a->argv = argv;
	for (int i = 0; i < argc; i++) {
		if (options && str_equal(argv[i], "--"))
			options = false;
		else if (!options || argv[i][0] != '-' || argv[i][1] == '\0')
			argv[a->argc++] = argv[i];
		else if (parse_option(a, argc, argv, &i, e) < 0)
			return -1;
	}
	return 0;
}
