/* commands.c: the table of the operator's commands and their options. */
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
	{ "--sql", "DIR", "read migrations and functions from here, not the installed ones" },
	END,
};
static const struct option_row KEY_CREATE[] = {
	{ "--user",    "USER",  "the owner of the key" },
	{ "--org",     "ORG",   "the owner's org; default: none, the user is alone" },
	{ "--bot",     "BOT",   "a bot of the user" },
	{ "--scope",   "SCOPE", "admin, tenant (the default) or read" },
	{ "--expires", "WHEN",  "when the key ends: a time such as 30d, or a date" },
	END,
};
static const struct option_row KEY_LIST[] = {
	{ "--org", "ORG", "only those of this org" },
	END,
};
static const struct option_row ORG_SET[] = {
	{ "--isolation",          "WORD",      "sandboxes of new sessions: session, shared or inherit" },
	{ "--salt",               "WORD",      "move new sessions to another shared sandbox; \"\": no salt" },
	{ "--network",            "SPEC",      "network of its sessions: none, open, HOST,@PRESET,..., or default" },
	{ "--max-sessions",       "N|inherit", "sessions that are not deleted; 0: no limit, here and below" },
	{ "--max-active",         "N|inherit", "sessions that run or start" },
	{ "--creates-per-minute", "N|inherit", "new sessions per minute" },
	{ "--max-previews",       "N|inherit", "exposed ports" },
	{ "--max-disk-mb",        "N|inherit", "disk that its sandboxes reserve" },
	{ "--max-snapshots",      "N|inherit", "snapshots" },
	{ "--max-snapshot-mb",    "N|inherit", "disk of all its snapshots" },
	END,
};
static const struct option_row SESSION_LIST[] = {
	{ "--org",   "ORG",   "only those of this org" },
	{ "--user",  "USER",  "only those of this user" },
	{ "--state", "STATE", "only those in this state" },
	{ "--host",  "HOST",  "only those whose sandbox is on HOST" },
	{ "--name",  "NAME",  "only those of this name" },
	{ "--all",   NULL,    "also deleted sessions" },
	END,
};
static const struct option_row LEASE_LIST[] = {
	{ "--without-session", NULL, "only leases whose session has no row any more" },
	END,
};
static const struct option_row LEASE_RELEASE[] = {
	{ "--force", NULL, "required: release it without proof that nothing runs" },
	END,
};
static const struct option_row CLASS[] = {
	{ "--memory-mb",  "N",   "memory of a sandbox" },
	{ "--cpu-millis", "N",   "processor time: 1000 is one core" },
	{ "--disk-mb",    "N",   "disk of a sandbox" },
	{ "--pids",       "N",   "processes and threads of a sandbox" },
	{ "--cpu-seconds", "N",  "processor time of one execution" },
	{ "--wall-seconds", "N", "how long one execution may take" },
	{ "--rootfs",     "DIR", "its root directory; \"\": the host's system directories" },
	{ "--writable-root", "yes|no", "let each session change its own copy of the root, as root" },
	{ "--network-max", "SPEC", "the most that its sessions may reach: none, open, or HOST,@PRESET,..." },
	END,
};
static const struct option_row PROFILE_LIST[] = {
	{ "--org", "ORG", "only those of this org" },
	END,
};
static const struct option_row PROFILE_SET[] = {
	{ "--org",              "ORG",  "only for this org; default: for all that have none of their own" },
	{ "--memory-mb",        "N",    "memory" },
	{ "--cpu-seconds",      "N",    "processor time of an execution" },
	{ "--wall-seconds",     "N",    "how long an execution may take" },
	{ "--network-requests", "N",    "requests over the network" },
	{ "--pids",             "N",    "processes and threads" },
	{ "--disk-mb",          "N",    "files" },
	{ "--network",          "SPEC", "what it may reach: none, open, HOST,@PRESET,..., or default, which is as the org says" },
	{ "--command",          "TEXT", "run by an execution that brings none; \"\": none" },
	END,
};
static const struct option_row PROFILE_DELETE[] = {
	{ "--org", "ORG", "the org's own; default: the service's" },
	END,
};
static const struct option_row SNAPSHOT_LIST[] = {
	{ "--org",     "ORG",     "only those of this org" },
	{ "--session", "SESSION", "only those of this session" },
	{ "--state",   "STATE",   "only those in this state" },
	{ "--host",    "HOST",    "only those on HOST" },
	END,
};
static const struct option_row HOST_ADOPT[] = {
	{ "--from", "HOST", "also take over all of HOST, which must be gone for good" },
	END,
};
static const struct option_row AUDIT_LIST[] = {
	{ "--org",      "ORG",      "only entries about this org" },
	{ "--severity", "SEVERITY", "only this severity: info, warning or critical" },
	{ "--kind",     "KIND",     "only entries of this kind" },
	END,
};
static const struct option_row ROOTFS_MAKE[] = {
	{ "--packages", "A,B,...", "packages to install beside the base system" },
	{ "--suite",    "SUITE",   "Debian's suite; default bookworm" },
	{ "--mirror",   "URL",     "get packages from here, instead of this machine's mirror" },
	END,
};
static const struct option_row REAPER_RUNS[] = {
	{ "--host", "HOST", "only passes of HOST" },
	END,
};
static const struct option_row DRAIN[] = {
	{ "--timeout", "SECONDS", "wait at most this time; default 120" },
	END,
};

static const struct command COMMANDS[] = {
	{ "migrate", cmd_migrate, "", "bring the database up to date", MIGRATE },
	{ "seal-key", cmd_seal_key, "FILE", "make a file with a new sealing key", .as_caller = true },
	{ "key create", cmd_key_create, "", "print a new key, once", KEY_CREATE },
	{ "key list", cmd_key_list, "", "list API keys and their owners", KEY_LIST, PRINTS_MANY },
	{ "key revoke", cmd_key_revoke, "ID", "end a key at once" },
	{ "org list", cmd_org_list, "", "list orgs and what they have", NULL, PRINTS_MANY },
	{ "org show", cmd_org_show, "ORG", "show an org: quotas and their use, sessions by state", NULL, PRINTS_ONE },
	{ "org set", cmd_org_set, "ORG", "change an org's isolation, network and quotas", ORG_SET },
	{ "org recount", cmd_org_recount, "[ORG]", "compare the counters of quotas with the rows, and correct them" },
	{ "session list", cmd_session_list, "", "list sessions of all orgs, newest first", SESSION_LIST, PRINTS_MANY },
	{ "session show", cmd_session_show, "SESSION", "show a session, its owner, lease and host", NULL, PRINTS_ONE },
	{ "lease list", cmd_lease_list, "", "list leases that are not none", LEASE_LIST, PRINTS_MANY },
	{ "lease release", cmd_lease_release, "SESSION", "release a lease without proof that nothing runs; audited", LEASE_RELEASE },
	{ "class list", cmd_class_list, "", "list classes of sandboxes, their limits and networks", NULL, PRINTS_MANY },
	{ "class add", cmd_class_add, "CLASS", "add a class", CLASS },
	{ "class set", cmd_class_set, "CLASS", "change limits, root or network of a class", CLASS },
	{ "preset list", cmd_preset_list, "", "list presets, which are names for hosts in a network policy", NULL, PRINTS_MANY },
	{ "preset set", cmd_preset_set, "PRESET HOST,...", "make a preset of these hosts, or change it" },
	{ "preset delete", cmd_preset_delete, "PRESET", "delete a preset" },
	{ "profile list", cmd_profile_list, "", "list profiles: limits, network and command of agent types", PROFILE_LIST, PRINTS_MANY },
	{ "profile set", cmd_profile_set, "TYPE", "make a profile of an agent type, or change it", PROFILE_SET },
	{ "profile delete", cmd_profile_delete, "TYPE", "delete a profile", PROFILE_DELETE },
	{ "snapshot list", cmd_snapshot_list, "", "list snapshots of all orgs, newest first", SNAPSHOT_LIST, PRINTS_MANY },
	{ "snapshot show", cmd_snapshot_show, "SNAPSHOT", "show a snapshot, its owner and host", NULL, PRINTS_ONE },
	{ "snapshot rm", cmd_snapshot_rm, "SNAPSHOT", "delete a snapshot; audited" },
	{ "host list", cmd_host_list, "", "list hosts, their storage and their last reaper pass", NULL, PRINTS_MANY },
	{ "host adopt-storage", cmd_host_adopt_storage, "", "give this host the storage that is mounted here", HOST_ADOPT },
	{ "audit list", cmd_audit_list, "", "print the audit log, newest first", AUDIT_LIST, PRINTS_MANY },
	{ "reaper runs", cmd_reaper_runs, "", "list passes of the reaper, newest first", REAPER_RUNS, PRINTS_MANY },
	{ "rootfs make", cmd_rootfs_make, "NAME", "make a Debian root file system for a class", ROOTFS_MAKE, .as_caller = true },
	{ "rootfs list", cmd_rootfs_list, "", "list root file systems of this host, and their classes", NULL, PRINTS_ONE, true },
	{ "rootfs rm", cmd_rootfs_rm, "NAME", "remove a root file system that is not in use", .as_caller = true },
	{ "warm show", cmd_warm_show, "", "show the warm pool: sandboxes that wait for a session, hits and misses", NULL, PRINTS_ONE },
	{ "drain", cmd_drain, "", "admit no more work, put every session to sleep, and wait", DRAIN },
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
