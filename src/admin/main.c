/* main.c: sandlease-admin: configure, drop, one command. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "admin/admin.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/program.h"
#include "common/str.h"
#include "common/token.h"

struct command {
	const char *words;
	command_fn *run;
	const char *help;
	bool as_caller; /* writes where only the operator may */
};

/* clang-format off */
static const struct command COMMANDS[] = {
	{ "migrate",    cmd_migrate,    "[--sql DIR]  bring the database up to date" },
	{ "seal-key",   cmd_seal_key,   "FILE  make a file with a new sealing key", true },
	{ "key create", cmd_key_create, "--user U [--org O] [--bot B] [--scope admin|tenant|read] [--expires 30d|DATE]  print a new key, once" },
	{ "key list",   cmd_key_list,   "who has keys" },
	{ "key revoke", cmd_key_revoke, "ID  end a key at once" },
	{ "lease list", cmd_lease_list, "[--without-session]  leases that are not none" },
	{ "lease release", cmd_lease_release, "--force SESSION  believe that nothing of it runs; goes to the audit log" },
	{ "org set",    cmd_org_set,    "ORG [--isolation session|shared|inherit] [--salt WORD] [--max-sessions|--max-active|--creates-per-minute|--max-previews|--max-disk-mb|--max-snapshots|--max-snapshot-mb N|inherit]" },
	{ "org recount", cmd_org_recount, "[ORG]  compare what quotas count with what there is, and set it right" },
	{ "drain",      cmd_drain,      "[--timeout SECONDS]  admit nothing, put every session to sleep, wait" },
	{ "undrain",    cmd_undrain,    "admit sessions again" },
};
/* clang-format on */

static void
print_usage(FILE *to)
{
	fputs("usage: sandlease-admin [--config FILE] COMMAND\n", to);
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
		fprintf(to, "  %-10s %s\n", COMMANDS[i].words,
		    COMMANDS[i].help);
}

/* Drops argv[i .. i+n). */
static void
remove_args(struct admin *a, int i, int n)
{
	memmove(a->argv + i, a->argv + i + n,
	    (size_t)(a->argc - i - n) * sizeof(*a->argv));
	a->argc -= n;
}

const char *
admin_option(struct admin *a, const char *name)
{
	for (int i = 0; i + 1 < a->argc; i++)
		if (str_equal(a->argv[i], name)) {
			const char *v = a->argv[i + 1];

			remove_args(a, i, 2);
			return v;
		}
	return NULL;
}

bool
admin_flag(struct admin *a, const char *name)
{
	for (int i = 0; i < a->argc; i++)
		if (str_equal(a->argv[i], name)) {
			remove_args(a, i, 1);
			return true;
		}
	return false;
}

const char *
admin_argument(struct admin *a)
{
	const char *v;

	if (a->argc == 0 || str_starts(a->argv[0], "--"))
		return NULL;
	v = a->argv[0];
	remove_args(a, 0, 1);
	return v;
}

int
admin_no_more(struct admin *a, struct err *e)
{
	if (a->argc == 0)
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE, "%s: what is this?",
	    a->argv[0]);
}

/* Takes the command's words off the front. */
static const struct command *
find_command(struct admin *a)
{
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
		const char *words = COMMANDS[i].words;
		size_t first = strcspn(words, " ");
		bool two = words[first] == ' ';

		if (a->argc < (two ? 2 : 1) || strlen(a->argv[0]) != first ||
		    strncmp(a->argv[0], words, first) != 0 ||
		    (two && !str_equal(a->argv[1], words + first + 1)))
			continue;
		remove_args(a, 0, two ? 2 : 1);
		return &COMMANDS[i];
	}
	return NULL;
}

/* Who typed it, for events and the audit log; also behind sudo. */
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

static int
run(struct admin *a, const struct command *cmd, const char *path)
{
	auto_free char *caller = name_caller();
	const struct store_options options = { caller, 5000 };
	struct conf conf;
	struct err e = { 0 };
	int rc;

	if (conf_load(path, &conf, &e) < 0)
		return program_fail("sandlease-admin", &e);
	log_open("sandlease-admin", (enum log_level)conf.log_level,
	    (enum log_format)conf.log_format);
	program_raise_limits();
	if ((!cmd->as_caller && program_drop_root(&conf, &e) < 0) ||
	    token_init(&e) < 0)
		return program_fail("sandlease-admin", &e);
	a->conf = &conf;
	a->store = store_new(conf.database, &options);
	rc = cmd->run(a, &e);
	store_free(a->store);
	return rc < 0 ? program_fail("sandlease-admin", &e) : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	struct admin a = { .argc = argc - 1, .argv = argv + 1 };
	const char *path = admin_option(&a, "--config");
	const struct command *cmd;

	if (a.argc == 1 && str_equal(a.argv[0], "--version")) {
		printf("sandlease-admin %s\n", PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (a.argc == 1 && str_equal(a.argv[0], "--help")) {
		print_usage(stdout);
		return EXIT_SUCCESS;
	}
	cmd = find_command(&a);
	if (cmd == NULL) {
		print_usage(stderr);
		return EXIT_FAILURE;
	}
	return run(&a, cmd, path);
}
