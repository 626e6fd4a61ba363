/*
 * commands.h: finds a command in the table, and prints help from the table.
 *
 * t/docs/complete.t compares the table with the manual page.
 */
#ifndef SANDLEASE_ADMIN_COMMANDS_H
#define SANDLEASE_ADMIN_COMMANDS_H

#include "admin/command.h"

/* The command whose name `words` begin with, or NULL; *used: how many words
 * that is. */
const struct command *command_find(int count, char *const *words, int *used);

/* True if the name of a command begins with this word. */
bool command_begins(const char *word);

/* Prints a line for each command whose name begins with `word`; NULL: all. */
void command_print_all(const char *word, FILE *to);

command_fn cmd_migrate, cmd_seal_key, cmd_key_create, cmd_key_list,
    cmd_key_revoke, cmd_org_list, cmd_org_show, cmd_org_set, cmd_org_recount,
    cmd_session_list, cmd_session_show, cmd_lease_list, cmd_lease_release,
    cmd_class_list, cmd_class_add, cmd_class_set, cmd_preset_list,
    cmd_preset_set, cmd_preset_delete, cmd_profile_list, cmd_profile_set,
    cmd_profile_delete, cmd_snapshot_list, cmd_snapshot_show, cmd_snapshot_rm,
    cmd_host_list, cmd_host_adopt_storage, cmd_audit_list, cmd_reaper_runs,
    cmd_rootfs_make, cmd_rootfs_list, cmd_rootfs_rm, cmd_warm_show, cmd_drain,
    cmd_undrain;

#endif
