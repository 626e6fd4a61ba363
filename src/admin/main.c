/* main.c: sandlease-admin: reads settings, drops root, runs one command. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/args.h"
#include "admin/commands.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/program.h"
#include "common/str.h"
#include "common/token.h"

enum { EXIT_USAGE = 2 }; /* the same as of sandlease(1) */

/* The operator's name for events and the audit log; SUDO_USER under sudo. */
static char *
name_caller(void)
{
	const char *sudo = getenv("SUDO_USER");
	struct passwd pw, *found = NULL;
	char names[4096];

	if (getuid() == 0 && !str_empty(sudo))
		return xasprintf("sandlease-admin:%s", sudo);
	if (getpwuid_r(getuid(), &pw, names, sizeof(names), &found) != 0 ||
	    found == NULL)
		return xasprintf("sandlease-admin:%d", (int)getuid());
	return xasprintf("sandlease-admin:%s", pw.pw_name);
}

/* Prints the error.  Returns the exit code: 2 for a wrong command line. */
static int
fail(const struct err *e)
{
	int status = program_fail("sandlease-admin", e);

	return e->code == CODE_USAGE ? EXIT_USAGE : status;
}

/* A command whose output could not be written has failed. */
static int
flush_output(void)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return EXIT_SUCCESS;
	perror("sandlease-admin: standard output");
	return EXIT_FAILURE;
}

static int
run_command(struct admin *a, const char *path)
{
	auto_free char *caller = name_caller();
	const struct store_options options = { caller, 5000 };
	struct conf conf;
	struct err e = { 0 };
	int rc;

	if (conf_load(path, &conf, &e) < 0)
		return fail(&e);
	log_open("sandlease-admin", (enum log_level)conf.log_level,
	    (enum log_format)conf.log_format);
	program_raise_limits();
	if ((!a->command->as_caller && program_drop_root(&conf, &e) < 0) ||
	    token_init(&e) < 0)
		return fail(&e);
	a->conf = &conf;
	a->store = store_new(conf.database, &options);
	store_limits(a->store, &conf);
	rc = a->command->run(a, &e);
	store_free(a->store);
	return rc < 0 ? fail(&e) : flush_output();
}

static void
print_usage(FILE *to)
{
	fputs("usage: sandlease-admin [--config FILE] COMMAND [options]\n"
	      "       sandlease-admin --help | --version\n",
	    to);
	command_print_all(NULL, to);
	fputs(
	    "\"sandlease-admin COMMAND --help\" prints the options of a command.\n",
	    to);
}

/* Prints that there is no such command, and the commands there are. */
static int
refuse_unknown(int argc, char **argv)
{
	const char *word = argc > 0 ? argv[0] : NULL;

	if (word != NULL && command_begins(word)) {
		if (argc > 1)
			fprintf(stderr,
			    "sandlease-admin: %s %s: there is no such command\n",
			    word, argv[1]);
		command_print_all(word, stderr);
		return EXIT_USAGE;
	}
	if (word != NULL)
		fprintf(stderr, "sandlease-admin: %s: there is no such %s\n",
		    word, word[0] == '-' ? "option" : "command");
	print_usage(stderr);
	return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	struct admin a = { 0 };
	const struct command *c;
	const char *path = NULL;
	struct err e = { 0 };
	int used, at = 1;

	if (argc > 2 && str_equal(argv[1], "--config")) {
		path = argv[2];
		at = 3;
	}
	if (argc == at + 1 && str_equal(argv[at], "--version")) {
		printf("sandlease-admin %s\n", PACKAGE_VERSION);
		return flush_output();
	}
	if (argc == at + 1 && str_equal(argv[at], "--help")) {
		print_usage(stdout);
		return flush_output();
	}
	c = command_find(argc - at, argv + at, &used);
	if (c == NULL && argc == at + 2 && command_begins(argv[at]) &&
	    str_equal(argv[at + 1], "--help")) {
		command_print_all(argv[at], stdout);
		return flush_output();
	}
	if (c == NULL)
		return refuse_unknown(argc - at, argv + at);
	if (args_parse(c, argc - at - used, argv + at + used, &a, &e) < 0)
		return fail(&e);
	if (admin_flag(&a, "--help")) {
		command_print_help(c, stdout);
		return flush_output();
	}
	if (admin_option(&a, "--config") != NULL)
		path = admin_option(&a, "--config");
	return run_command(&a, path);
}
