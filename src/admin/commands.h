/*
 * commands.h: the table of commands, from which all help comes.
 *
 * t/docs/complete.t compares it with the manual page.
 */
#ifndef SANDLEASE_ADMIN_COMMANDS_H
#define SANDLEASE_ADMIN_COMMANDS_H

#include <stdio.h>

#include "admin/admin.h"

struct option_row {
	const char *name;  /* "--org"; NULL ends the rows */
	const char *value; /* its word; NULL: a flag */
	const char *help;
};

/* What a command prints, and so which options it has beside its own. */
enum command_output {
	PRINTS_WORDS,
	PRINTS_ONE, /* a thing: --json */
	PRINTS_MANY /* rows: --json, --limit */
};

struct command {
	const char *words; /* one or two */
	command_fn *run;
	const char *operands;
	const char *help;
	const struct option_row *options; /* NULL: none of its own */
	enum command_output output;
	bool as_caller; /* writes where only the operator may */
};

extern const struct command COMMANDS[];
extern const size_t COMMAND_COUNT;

/* The command that `words` begin with, or NULL; *used says how many it has. */
const struct command *command_find(int count, char *const *words, int *used);

/* The row of an option of this command, its own or a common one; or NULL. */
const struct option_row *command_option(const struct command *c,
    const char *name, size_t len);

/* Whether some command begins with this word. */
bool command_begins(const char *word);

/* A line for each command; `word` not NULL: for those that begin with it. */
void command_print_all(const char *word, FILE *to);
void command_print_help(const struct command *c, FILE *to);

command_fn cmd_migrate, cmd_seal_key, cmd_key_create, cmd_key_list,
    cmd_key_revoke, cmd_org_list, cmd_org_show, cmd_org_set, cmd_org_recount,
    cmd_session_list, cmd_session_show, cmd_lease_list, cmd_lease_release,
    cmd_class_list, cmd_class_add, cmd_class_set, cmd_snapshot_list,
    cmd_snapshot_show, cmd_snapshot_rm, cmd_host_list, cmd_host_adopt_storage,
    cmd_audit_list, cmd_reaper_runs, cmd_rootfs_make, cmd_rootfs_list,
    cmd_rootfs_rm, cmd_drain, cmd_undrain;

#endif
