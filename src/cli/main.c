/* main.c: sandlease: the remote command line, over HTTP only. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "common/mem.h"
#include "common/program.h"

struct command {
	const char *name;
	command_fn *run;
	const char *help;
};

static const struct command COMMANDS[] = {
	{ "doctor", cmd_doctor,
	    "create, execute, preview and delete a session, for real" },
};

static void
print_usage(FILE *to)
{
	fputs("usage: sandlease COMMAND\n", to);
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
		fprintf(to, "  %-10s %s\n", COMMANDS[i].name, COMMANDS[i].help);
	fputs("SANDLEASE_URL and SANDLEASE_API_KEY say where and who.\n", to);
}

static int
run(const struct command *cmd)
{
	struct err e = { 0 };
	struct client *c = client_new(&e);
	int rc;

	if (c == NULL)
		return program_fail("sandlease", &e);
	rc = cmd->run(c, &e);
	client_free(c);
	return rc < 0 ? program_fail("sandlease", &e) : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && str_equal(argv[1], "--version")) {
		printf("sandlease %s\n", PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (argc == 2 && str_equal(argv[1], "--help")) {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(COMMANDS); i++)
		if (str_equal(COMMANDS[i].name, argv[1]))
			return run(&COMMANDS[i]);
	print_usage(stderr);
	return EXIT_FAILURE;
}
