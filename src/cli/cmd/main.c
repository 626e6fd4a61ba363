/* main.c: sandlease, the command line that uses a service over HTTP. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/help.h"
#include "cli/show.h"
#include "common/mem.h"

/* Runs the command, with a client unless it is offline. */
static int
call_command(struct cli *k, struct err *e)
{
	struct config_choice choice = command_choice(&k->args);
	struct config config;
	int rc;

	if (k->args.command->offline)
		return k->args.command->run(k, e);
	if (config_load(&choice, &config, e) < 0) {
		config_free(&config);
		return -1;
	}
	k->client = client_new(&config);
	rc = k->args.command->run(k, e);
	client_free(k->client);
	return rc;
}

/* Prints the error.  Returns the exit code: 2 for a wrong command line. */
static int
report_failure(const struct command *cmd, const struct err *e)
{
	show_problem(e->msg);
	if (cmd->passes_codes)
		return EXIT_OURS;
	return e->code == CODE_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}

/* A command whose output could not be written has failed. */
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
run_command(const struct command *cmd, int argc, char **argv)
{
	struct cli k = { .table = &COMMANDS };
	struct err e = { 0 };
	int rc;

	rc = args_parse(cmd, argc, argv, &k.args, &e);
	if (rc == 0 && args_has(&k.args, "help")) {
		args_help(cmd, stdout);
	} else if (rc == 0) {
		k.json = args_has(&k.args, "json");
		rc = call_command(&k, &e);
	}
	args_free(&k.args);
	return flush_output(rc < 0 ? report_failure(cmd, &e) : rc);
}

/* Moves the command's name before the common options that precede it. */
static void
put_name_first(char **words, int before, int name)
{
	auto_free char **copy = xcalloc((size_t)before + 1, sizeof(*copy));

	memcpy(copy, words, (size_t)before * sizeof(*copy));
	memmove(words, words + before, (size_t)name * sizeof(*words));
	memcpy(words + name, copy, (size_t)before * sizeof(*copy));
}

static int
report_misuse(const struct err *e)
{
	show_problem(e->msg);
	return EXIT_USAGE;
}

static bool
wants_help(char *const *words)
{
	for (; *words != NULL; words++)
		if (str_equal(*words, "--help") || str_equal(*words, "-h"))
			return true;
	return false;
}

int
main(int argc, char **argv)
{
	const struct command *cmd;
	struct err e = { 0 };
	int before, used, words = argc - 1;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && str_equal(argv[1], "--version")) {
		printf("sandlease %s\n", PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (args_before(words, argv + 1, &before, &e) < 0)
		return report_misuse(&e);
	words -= before;
	cmd = command_find(&COMMANDS, words, argv + 1 + before, &used);
	if (cmd != NULL) {
		put_name_first(argv + 1, before, used);
		return run_command(cmd, argc - used, argv + used);
	}
	if (words == 2 && command_group(&COMMANDS, argv[1 + before]) != NULL &&
	    str_equal(argv[2 + before], "--help")) {
		help_commands(&COMMANDS, argv[1 + before], stdout);
		return EXIT_SUCCESS;
	}
	if (words > 0 &&
	    help_unknown(&COMMANDS, words, argv + 1 + before, &e) < 0)
		return report_misuse(&e);
	help_usage(&COMMANDS, wants_help(argv) ? stdout : stderr);
	return wants_help(argv) ? EXIT_SUCCESS : EXIT_USAGE;
}
