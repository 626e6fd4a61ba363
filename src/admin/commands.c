/* commands.c: the operator's commands on one page. */
#include "admin/commands.h"

#include "common/command_name.h"
#include "common/mem.h"
#include "common/str.h"

#define END                                                                    \
	{                                                                      \
		0                                                              \
	}

/* clang-format off */
static const struct option_row MIGRATE[] = {
	{ "--sql", "DIR", "where migrations and functions are, instead of the installed ones" },
	END,
};
static const struct option_row KEY_CREATE[] = {
	{ "--user",    "USER",  "whose key it is" },
	{ "--org",     "ORG",   "the org; without it the user is alone" },
	{ "--bot",     "BOT",   "a bot of the user's" },
	{ "--scope",   "SCOPE", "admin, tenant (the default) or read" },
	{ "--expires", "WHEN",  "a span such as 30d, or a date" },
	END,
};
static const struct option_row KEY_LIST[] = {
	{ "--org", "ORG", "only those of that org" },
	END,
};
static const struct option_row ORG_SET[] = {
	{ "--isolation",          "WORD",      "session, shared or inherit: sandboxes of new sessions" },
	{ "--salt",               "WORD",      "moves new sessions to another shared sandbox; \"\": none" },
	{ "--max-sessions",       "N|inherit", "sessions that are not deleted; 0: no limit, as for all" },
	{ "--max-active",         "N|inherit", "sessions that run or are about to" },
	{ "--creates-per-minute", "N|inherit", "new sessions in a minute" },
	{ "--max-previews",       "N|inherit", "exposed ports" },
	{ "--max-disk-mb",        "N|inherit", "disk that sandboxes reserve" },
	{ "--max-snapshots",      "N|inherit", "snapshots" },
	{ "--max-snapshot-mb",    "N|inherit", "what all snapshots take together" },
	END,
};
static const struct option_row SESSION_LIST[] = {
	{ "--org",   "ORG",   "only those of that org" },
	{ "--user",  "USER",  "only those of that user" },
	{ "--state", "STATE", "only those in that state" },
	{ "--host",  "HOST",  "only those whose sandbox is on that host" },
	{ "--name",  "NAME",  "only those of that name" },
	{ "--all",   NULL,    "those that are deleted, too" },
	END,
};
static const struct option_row LEASE_LIST[] = {
	{ "--without-session", NULL, "only those whose session's row is gone" },
	END,
};
static const struct option_row LEASE_RELEASE[] = {
	{ "--force", NULL, "yes, without proof" },
	END,
};
static const struct option_row CLASS[] = {
	{ "--memory-mb",  "N",   "memory of a sandbox" },
	{ "--cpu-millis", "N",   "processor time: 1000 is one core" },
	{ "--disk-mb",    "N",   "disk of a sandbox" },
	{ "--pids",       "N",   "processes and threads of a sandbox" },
	{ "--rootfs",     "DIR", "its root directory; \"\": the host's own system directories" },
	{ "--writable-root", "yes|no", "whether each session may change a copy of it, as root" },
	END,
};
static const struct option_row SNAPSHOT_LIST[] = {
	{ "--org",     "ORG",     "only those of that org" },
	{ "--session", "SESSION", "only those taken of that session" },
	{ "--state",   "STATE",   "only those in that state" },
	{ "--host",    "HOST",    "only those on that host" },
	END,
};
static const struct option_row HOST_ADOPT[] = {
	{ "--from", "HOST", "what that host had is this host's, too; it must be no more" },
	END,
};
static const struct option_row AUDIT_LIST[] = {
	{ "--org",      "ORG",      "only what concerns that org" },
	{ "--severity", "SEVERITY", "info, warning or critical" },
	{ "--kind",     "KIND",     "only those of that kind" },
	END,
};
static const struct option_row ROOTFS_MAKE[] = {
	{ "--packages", "A,B,...", "what is installed beside the base system" },
	{ "--suite",    "SUITE",   "of Debian; bookworm by default" },
	{ "--mirror",   "URL",     "where packages come from, instead of this machine's own" },
	END,
};
static const struct option_row REAPER_RUNS[] = {
	{ "--host", "HOST", "only those of that host" },
	END,
};
static const struct option_row DRAIN[] = {
	{ "--timeout", "SECONDS", "how long to wait; 120 by default" },
	END,
};

static const struct command COMMANDS[] = {
	{ "migrate", cmd_migrate, "", "bring the database up to date", MIGRATE },
	{ "seal-key", cmd_seal_key, "FILE", "make a file with a new sealing key", .as_caller = true },
	{ "key create", cmd_key_create, "", "print a new key, once", KEY_CREATE },
	{ "key list", cmd_key_list, "", "who has keys", KEY_LIST, PRINTS_MANY },
	{ "key revoke", cmd_key_revoke, "ID", "end a key at once" },
	{ "org list", cmd_org_list, "", "all orgs and what they have", NULL, PRINTS_MANY },
	{ "org show", cmd_org_show, "ORG", "an org: quotas, what is used of them, sessions by state", NULL, PRINTS_ONE },
	{ "org set", cmd_org_set, "ORG", "change an org's isolation and quotas", ORG_SET },
	{ "org recount", cmd_org_recount, "[ORG]", "compare what quotas count with what there is, and set it right" },
	{ "session list", cmd_session_list, "", "sessions of all orgs, newest first", SESSION_LIST, PRINTS_MANY },
	{ "session show", cmd_session_show, "SESSION", "a session, its owner, lease and host", NULL, PRINTS_ONE },
	{ "lease list", cmd_lease_list, "", "leases that are not none", LEASE_LIST, PRINTS_MANY },
	{ "lease release", cmd_lease_release, "SESSION", "believe that nothing of it runs; goes to the audit log", LEASE_RELEASE },
	{ "class list", cmd_class_list, "", "classes of sandboxes and their limits", NULL, PRINTS_MANY },
	{ "class add", cmd_class_add, "CLASS", "add a class", CLASS },
	{ "class set", cmd_class_set, "CLASS", "change limits of a class", CLASS },
	{ "snapshot list", cmd_snapshot_list, "", "snapshots of all orgs, newest first", SNAPSHOT_LIST, PRINTS_MANY },
	{ "snapshot show", cmd_snapshot_show, "SNAPSHOT", "a snapshot, its owner and host", NULL, PRINTS_ONE },
	{ "snapshot rm", cmd_snapshot_rm, "SNAPSHOT", "delete a snapshot; goes to the audit log" },
	{ "host list", cmd_host_list, "", "hosts, their storage and their last reaper pass", NULL, PRINTS_MANY },
	{ "host adopt-storage", cmd_host_adopt_storage, "", "make the storage that is here this host's", HOST_ADOPT },
	{ "audit list", cmd_audit_list, "", "the audit log, newest first", AUDIT_LIST, PRINTS_MANY },
	{ "reaper runs", cmd_reaper_runs, "", "passes of the reaper, newest first", REAPER_RUNS, PRINTS_MANY },
	{ "rootfs make", cmd_rootfs_make, "NAME", "make a Debian for a class to run", ROOTFS_MAKE, .as_caller = true },
	{ "rootfs list", cmd_rootfs_list, "", "those of this host, and the classes that name them", NULL, PRINTS_ONE, true },
	{ "rootfs rm", cmd_rootfs_rm, "NAME", "remove one that no class names and no sandbox runs from", .as_caller = true },
	{ "drain", cmd_drain, "", "admit nothing, put every session to sleep, wait", DRAIN },
	{ "undrain", cmd_undrain, "", "admit sessions again" },
};
/* clang-format on */

const struct command *
command_find(int count, char *const *words, int *used)
{
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++) {
		*used = command_name_match(COMMANDS[i].words, count, words);
		if (*used > 0)
			return &COMMANDS[i];
	}
	return NULL;
}

bool
command_begins(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
		if (command_name_in(COMMANDS[i].words, word))
			return true;
	return false;
}

void
command_print_all(const char *word, FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(COMMANDS); i++)
		if (word == NULL || str_starts(COMMANDS[i].words, word))
			fprintf(to, "  %-*s %s\n", COMMAND_INDENT,
			    COMMANDS[i].words, COMMANDS[i].help);
}
