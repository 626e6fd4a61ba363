/* commands.c: the table of all commands and their options. */
#include "cli/cmd/commands.h"

#include "common/mem.h"

#define END                                                                    \
	{                                                                      \
		0                                                              \
	}

/* clang-format off */
#define KEEPING \
	{ 0,   "sleep-after", "TIME",      "idle time after which it sleeps: 30s, 10m, 2h" }, \
	{ 0,   "keep-alive",  NULL,        "never sleeps by itself" }
#define MAKING \
	{ 0,   "class",       "CLASS",     "size of its sandbox, which is then its own" }, \
	{ 0,   "isolated",    NULL,        "a sandbox of its own" }, \
	{ 'l', "label",       "KEY=VALUE", "to find it by" }, \
	{ 0,   "snapshot",    "SNAPSHOT",  "begin with the files of a snapshot" }, \
	{ 0,   "setup",       "COMMAND",   "run once, before it is ready; its output is shown" }, \
	{ 'f', "file",        "FILE[:PATH]", "a file of ours that it begins with" }
#define RUNNING \
	{ 'c', "command",  "LINE",      "a line for the shell, instead of COMMAND" }, \
	{ 'w', "workdir",  "DIR",       "where it runs, else where its shell is" }, \
	{ 'n', "no-stdin", NULL,        "do not read standard input" }

static const struct option_row RUN[] = {
	{ 'v', "volume",   "DIR[:PATH[:ro]]", "copy a directory of ours in, and what has changed back" },
	{ 't', "tty",      NULL,        "a terminal; bash without COMMAND" },
	{ 'i', "interactive", NULL,     "standard input is read anyway: for those used to -it" },
	RUNNING,
	{ 0,   "timeout",  "SECONDS",   "end it after so long, with code 124" },
	{ 'e', "env",      "KEY=VALUE", "a variable of all its commands" },
	{ 0,   "keep",     NULL,        "leave the session as it is then" },
	{ 0,   "rm",       NULL,        "delete it at the end, as is done without --keep" },
	{ 0,   "name",     "NAME",      "with --keep: the living session of that name, or a new one" },
	MAKING,
	END,
};
static const struct option_row CREATE[] = {
	{ 'n', "name",        "NAME",      "find the living session of that name, or make it" },
	{ 'e', "env",         "KEY=VALUE", "a variable of all its commands" },
	MAKING,
	KEEPING,
	{ 'w', "wait",        "SECONDS",   "how long to wait until it is ready; 0: not at all" },
	{ 0,   "shell",       NULL,        "then a terminal in it, as sandlease shell" },
	END,
};
static const struct option_row LS[] = {
	{ 's', "state", "STATE",     "only those in that state" },
	{ 'l', "label", "KEY=VALUE", "only those with that label" },
	{ 'a', "all",   NULL,        "those that are deleted, too" },
	{ 'q', "quiet", NULL,        "ids only" },
	{ 0,   "watch", NULL,        "again every two seconds, until ^C" },
	END,
};
static const struct option_row EXEC[] = {
	RUNNING,
	{ 'e', "env",      "KEY=VALUE", "a variable of this command" },
	{ 's', "session",  "NAME",      "the shell whose state it begins with" },
	{ 't', "timeout",  "SECONDS",   "end it after so long, with code 124" },
	END,
};
static const struct option_row SHELL[] = {
	{ 's', "session",   "NAME",    "the shell session it belongs to; one terminal each" },
	{ 0,   "shell",     "PROGRAM", "instead of bash, if it is new" },
	{ 0,   "no-escape", NULL,      "a tilde means nothing to us" },
	END,
};
static const struct option_row LOGS[] = {
	{ 'f', "follow",    NULL, "go on until it ends" },
	{ 'a', "all",       NULL, "every step, as it is stored" },
	{ 'p', "processes", NULL, "what background processes there are" },
	{ 0,   "agent",     NULL, "the log of the session's agent" },
	END,
};
static const struct option_row CP[] = {
	{ 'r', "recursive", NULL, "directories, with all that is in them" },
	{ 'q', "quiet",     NULL, "no progress" },
	END,
};
static const struct option_row PS[] = {
	{ 'a', "all",   NULL, "those that have ended, too" },
	{ 'q', "quiet", NULL, "ids only" },
	END,
};
static const struct option_row KILL[] = {
	{ 's', "signal", "SIGNAL", "only send this, such as INT, instead of ending it" },
	{ 'a', "all",    NULL,     "all background processes" },
	END,
};
static const struct option_row INTERRUPT[] = {
	{ 's', "shell",     "NAME", "only what runs in this shell session or code context" },
	{ 0,   "execution", "ID",   "only the command with this executionId" },
	END,
};
static const struct option_row PORTS_ADD[] = {
	{ 'n', "name",    "NAME",    "what it is" },
	{ 0,   "expires", "SECONDS", "its URL ends after so long" },
	{ 0,   "host",    "HOST",    "the Host that the app hears: localhost, or public, the URL's own" },
	END,
};
static const struct option_row SLEEP[] = {
	{ 0, "suspend", NULL, "freeze it, memory and all, instead" },
	END,
};
static const struct option_row UPDATE[] = {
	KEEPING,
	{ 0,   "no-keep-alive", NULL,      "sleeps by itself again" },
	{ 0,   "max-run",    "TIME",      "put to sleep so long after its start, whatever runs; 0: no limit" },
	{ 0,   "suspend",    NULL,        "sleep freezes it, memory and all" },
	{ 0,   "no-suspend", NULL,        "sleep stops it" },
	{ 0,   "expires",    "DATE",      "deleted then: 2030-01-31T12:00:00Z" },
	{ 'e', "env",        "KEY=VALUE", "a variable of all its commands from now on" },
	{ 0,   "unset",      "KEY",       "a variable that goes" },
	END,
};
static const struct option_row RM[] = {
	{ 'f', "force",   NULL,        "one that is not there is no mistake" },
	{ 'l', "label",   "KEY=VALUE", "all with that label" },
	{ 0,   "all",     NULL,        "all there are" },
	{ 'y', "yes",     NULL,        "do not ask" },
	{ 0,   "no-wait", NULL,        "do not wait until it is gone" },
	END,
};
static const struct option_row SNAPSHOT_CREATE[] = {
	{ 'n', "name", "NAME", "what it is" },
	END,
};
static const struct option_row SNAPSHOT_LS[] = {
	{ 'q', "quiet", NULL, "ids only" },
	END,
};
static const struct option_row OPEN[] = {
	{ 'p', "print",   NULL,      "print the URL, start no browser" },
	{ 'n', "name",    "NAME",    "what it is, if it is new" },
	{ 0,   "expires", "SECONDS", "its URL ends after so long" },
	END,
};
static const struct option_row SSH_CONFIG[] = {
	{ 'w', "write",    NULL,   "into ~/.ssh/sandlease, which ~/.ssh/config then includes" },
	{ 'i', "identity", "FILE", "private key to log in with; else one is made" },
	{ 0,   "host",     "HOST", "its name for ssh, instead of sandlease-ID" },
	END,
};

static const struct command ROWS[] = {
	{ "run", cmd_run, "[COMMAND...]", "a new session, a command in it, and the session deleted", RUN, .passes_codes = true },
	{ "create", cmd_create, "", "a new session, or the one of that name", CREATE },
	{ "ls", cmd_ls, "", "the sessions there are", LS },
	{ "show", cmd_show, "ID...", "what a session is: state, limits, ports, labels", NULL },
	{ "exec", cmd_exec, "ID [COMMAND...]", "run a command in a session, as if it ran here", EXEC, .passes_codes = true },
	{ "shell", cmd_shell, "ID", "a terminal in a session", SHELL, .passes_codes = true },
	{ "logs", cmd_logs, "ID [PROCESS]", "what happened to a session, or what a process wrote", LOGS },
	{ "cp", cmd_cp, "SOURCE TARGET", "copy between here and a session; ID:PATH is there", CP },
	{ "ps", cmd_ps, "ID", "background processes of a session", PS },
	{ "kill", cmd_kill, "ID [PROCESS...]", "end background processes of a session", KILL },
	{ "interrupt", cmd_interrupt, "ID...", "end the commands that run; the session stays ready", INTERRUPT },
	{ "ports ls", cmd_ports_ls, "ID", "preview URLs of a session", NULL },
	{ "ports add", cmd_ports_add, "ID PORT", "a preview URL for a port", PORTS_ADD },
	{ "ports rm", cmd_ports_rm, "ID PORT", "end a preview URL", NULL },
	{ "ports rotate", cmd_ports_rotate, "ID PORT", "a new URL for a port; the old one ends", NULL },
	{ "port-forward", cmd_port_forward, "ID [LOCAL:]PORT...", "a port of 127.0.0.1 here that leads into a session", NULL },
	{ "open", cmd_open, "ID PORT", "a preview in the browser", OPEN },
	{ "sleep", cmd_sleep, "ID...", "stop what runs, keep the files", SLEEP },
	{ "resume", cmd_resume, "ID...", "start it again where its files are", NULL },
	{ "wake", cmd_resume, "ID...", "the same as resume", NULL },
	{ "extend", cmd_extend, "ID TIME", "keep it awake at least so long from now: 30m, 2h", NULL },
	{ "update", cmd_update, "ID", "change how long it lives, and its variables", UPDATE },
	{ "label", cmd_label, "ID KEY=VALUE...", "set labels; KEY- takes one away", NULL },
	{ "rm", cmd_rm, "[ID...]", "delete sessions, and see them gone", RM },
	{ "snapshot create", cmd_snapshot_create, "ID", "keep a session's files as they are now", SNAPSHOT_CREATE },
	{ "snapshot ls", cmd_snapshot_ls, "[ID]", "snapshots, of all sessions or one", SNAPSHOT_LS },
	{ "snapshot rm", cmd_snapshot_rm, "SNAPSHOT...", "delete snapshots", NULL },
	{ "stats", cmd_stats, "[ID...]", "what sessions may use at most, and how long they run", NULL },
	{ "usage", cmd_usage, "", "quotas of the org, and what is used of them", NULL },
	{ "ssh-config", cmd_ssh_config, "ID", "a Host entry for ssh, scp and editors", SSH_CONFIG },
	{ "login", cmd_login, "[URL]", "store where the service is, and a key for it", NULL, .offline = true },
	{ "logout", cmd_logout, "", "forget what login has stored", NULL, .offline = true },
	{ "whoami", cmd_whoami, "", "whose key it is, and for which service", NULL },
	{ "doctor", cmd_doctor, "", "create, execute, preview and delete a session, for real", NULL },
	{ "version", cmd_version, "", "of this program, and of the service", NULL, .offline = true },
	{ "help", cmd_help, "[TOPIC...]", "the commands, or the options of one", NULL, .offline = true },
	{ "complete", cmd_complete, "[WORD...]", "what may follow, for completion in shells", NULL, .passes_codes = true, .offline = true, .hidden = true },
};

static const struct command_group GROUPS[] = {
	{ "ports", "preview URLs of a session" },
	{ "snapshot", "files of sessions, kept" },
};
/* clang-format on */

const struct command_table COMMANDS = { ROWS, ARRAY_LEN(ROWS), GROUPS,
	ARRAY_LEN(GROUPS) };
