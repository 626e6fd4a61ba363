/* main.c: sandlease: the remote command line, over HTTP only. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/show.h"

static void
print_usage(FILE *to)
{
	fputs("usage: sandlease COMMAND [options] ...\n", to);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!COMMANDS[i].hidden)
			fprintf(to, "  %-12s %s\n", COMMANDS[i].name,
			    COMMANDS[i].help);
	fputs(
	    "sandlease COMMAND --help has its options.  An ID may be a session's id, the\n"
	    "beginning of it, or its name.  SANDLEASE_URL and SANDLEASE_API_KEY, or\n"
	    "~/.config/sandlease, say where and who.\n",
	    to);
}

static int
with_client(struct cli *k, struct err *e)
{
	struct config config;
	int rc;

	if (k->args.command->offline)
		return k->args.command->run(k, e);
	if (config_load(args_value(&k->args, "url"), &config, e) < 0) {
		config_free(&config);
		return -1;
	}
	k->client = client_new(&config);
	rc = k->args.command->run(k, e);
	client_free(k->client);
	return rc;
}

/* Whose mistake it was: theirs who typed it, or anybody's. */
static int
failure(const struct command *cmd, const struct err *e)
{
	show_problem(e->msg);
	if (cmd->passes_codes)
		return EXIT_OURS;
	return e->code == CODE_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}

/* What could not be printed was not done. */
static int
flush_output(int status)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return status;
	if (status != EXIT_SUCCESS)
		return status;
	perror("sandlease: standard output");
	return EXIT_FAILURE;
}

static int
run(const struct command *cmd, int argc, char **argv)
{
	struct cli k = { 0 };
	struct err e = { 0 };
	int rc;

	rc = args_parse(cmd, argc, argv, &k.args, &e);
	if (rc == 0 && args_has(&k.args, "help")) {
		args_help(cmd, stdout);
	} else if (rc == 0) {
		k.json = args_has(&k.args, "json");
		rc = with_client(&k, &e);
	}
	args_free(&k.args);
	return flush_output(rc < 0 ? failure(cmd, &e) : rc);
}

int
main(int argc, char **argv)
{
	const struct command *cmd;
	int used;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && str_equal(argv[1], "--version")) {
		printf("sandlease %s\n", PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (argc == 2 && str_equal(argv[1], "--help")) {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	cmd = command_find(argc - 1, argv + 1, &used);
	if (cmd != NULL)
		return run(cmd, argc - used, argv + used);
	print_usage(stderr);
	return EXIT_USAGE;
}
