/* commands.c: the table of all commands and their options. */
#include "cli/cmd/commands.h"

#include "common/mem.h"

#define END                                                                    \
	{                                                                      \
		0                                                              \
	}

/* clang-format off */
#define KEEPING \
	{ 0,   "sleep-after", "TIME",      "put it to sleep after this idle time: 30s, 10m, 2h" }, \
	{ 0,   "keep-alive",  NULL,        "never let it sleep by itself" }
#define MAKING \
	{ 0,   "class",       "CLASS",     "size of its sandbox; implies --isolated" }, \
	{ 0,   "isolated",    NULL,        "give it a sandbox of its own" }, \
	{ 'l', "label",       "KEY=VALUE", "set a label to find it by; may be repeated" }, \
	{ 0,   "snapshot",    "SNAPSHOT",  "start with the files of this snapshot" }, \
	{ 0,   "setup",       "COMMAND",   "run this once before it is ready, and show the output" }, \
	{ 'f', "file",        "FILE[:PATH]", "start with a copy of this local file; may be repeated" }
#define NETWORK(MODES) \
	{ 0,   "allow",       "HOST|@PRESET", "let it connect to this host, HOST:PORT or *.HOST; may be repeated" }, \
	{ 0,   "network",     "MODE",      "let it connect to " MODES }, \
	{ 0,   "max-requests", "N",        "let it make so many requests in all" }, \
	{ 0,   "secret",      "HOST:HEADER=VARIABLE", "add a header to its requests, with the value of a local variable" }
#define NEW_MODES "nothing (none), or to every public address (open)"
#define RUNNING \
	{ 'c', "command",  "LINE",      "run this line in a shell, instead of COMMAND" }, \
	{ 'w', "workdir",  "DIR",       "run in this directory, instead of the shell's" }, \
	{ 'n', "no-stdin", NULL,        "do not read standard input" }

static const struct option_row RUN[] = {
	{ 'v', "volume",   "DIR[:PATH[:ro]]", "copy this local directory in, and changes back" },
	{ 't', "tty",      NULL,        "run on a terminal; without COMMAND, run bash" },
	{ 'i', "interactive", NULL,     "no effect: standard input is read anyway" },
	RUNNING,
	{ 0,   "timeout",  "SECONDS",   "end the command after this time, with exit code 124" },
	{ 'e', "env",      "KEY=VALUE", "set a variable for all its commands; may be repeated" },
	{ 0,   "keep",     NULL,        "do not delete the session at the end" },
	{ 0,   "rm",       NULL,        "delete the session at the end (the default)" },
	{ 0,   "name",     "NAME",      "with --keep: use the session of this name, or create it" },
	MAKING,
	NETWORK(NEW_MODES),
	END,
};
static const struct option_row CREATE[] = {
	{ 'n', "name",        "NAME",      "use the session of this name, or create it" },
	{ 'e', "env",         "KEY=VALUE", "set a variable for all its commands; may be repeated" },
	MAKING,
	NETWORK(NEW_MODES),
	KEEPING,
	{ 'w', "wait",        "SECONDS",   "wait at most this time until it is ready; 0: do not wait" },
	{ 0,   "shell",       NULL,        "open a terminal in it, as sandlease shell does" },
	END,
};
static const struct option_row LS[] = {
	{ 's', "state", "STATE",     "only sessions in this state" },
	{ 'l', "label", "KEY=VALUE", "only sessions with this label" },
	{ 'a', "all",   NULL,        "also deleted sessions" },
	{ 'q', "quiet", NULL,        "print ids only" },
	{ 0,   "watch", NULL,        "print the list every two seconds, until ^C" },
	END,
};
static const struct option_row EXEC[] = {
	RUNNING,
	{ 'e', "env",      "KEY=VALUE", "set a variable for this command; may be repeated" },
	{ 's', "session",  "NAME",      "start with the state of this shell session" },
	{ 't', "timeout",  "SECONDS",   "end the command after this time, with exit code 124" },
	END,
};
static const struct option_row SHELL[] = {
	{ 's', "session",   "NAME",    "use the terminal of this shell session" },
	{ 0,   "shell",     "PROGRAM", "run this instead of bash, if the terminal is new" },
	{ 0,   "no-escape", NULL,      "send ~. and other escapes to the terminal" },
	END,
};
static const struct option_row LOGS[] = {
	{ 'f', "follow",    NULL, "print new lines as they come, until the end" },
	{ 'a', "all",       NULL, "print every event as it is stored" },
	{ 'p', "processes", NULL, "list the background processes" },
	{ 0,   "agent",     NULL, "print the log of the session's agent" },
	END,
};
static const struct option_row CP[] = {
	{ 'r', "recursive", NULL, "copy directories with all that is in them" },
	{ 'q', "quiet",     NULL, "do not show the progress" },
	END,
};
static const struct option_row PS[] = {
	{ 'a', "all",   NULL, "also processes that have ended" },
	{ 'q', "quiet", NULL, "print ids only" },
	END,
};
static const struct option_row KILL[] = {
	{ 's', "signal", "SIGNAL", "send this signal, such as INT, instead of ending them" },
	{ 'a', "all",    NULL,     "end all background processes" },
	END,
};
static const struct option_row INTERRUPT[] = {
	{ 's', "shell",     "NAME", "only commands in this shell session or code context" },
	{ 0,   "execution", "ID",   "only the command with this executionId" },
	END,
};
static const struct option_row PORTS_ADD[] = {
	{ 'n', "name",    "NAME",    "a name for it, for lists" },
	{ 0,   "expires", "SECONDS", "end the URL after this time" },
	{ 0,   "host",    "HOST",    "Host header for the app: localhost, localhost-only, public (the URL's)" },
	END,
};
static const struct option_row SLEEP[] = {
	{ 0, "suspend", NULL, "freeze its processes, and keep their memory" },
	END,
};
static const struct option_row UPDATE[] = {
	KEEPING,
	{ 0,   "no-keep-alive", NULL,      "let it sleep by itself again" },
	{ 0,   "max-run",    "TIME",      "put it to sleep so long after its start, also if busy; 0: no limit" },
	{ 0,   "suspend",    NULL,        "sleep freezes its processes, and keeps their memory" },
	{ 0,   "no-suspend", NULL,        "sleep ends its processes" },
	{ 0,   "expires",    "DATE",      "delete it at this time: 2030-01-31T12:00:00Z" },
	{ 'e', "env",        "KEY=VALUE", "set a variable for all commands from now on" },
	{ 0,   "unset",      "KEY",       "remove a variable" },
	NETWORK("nothing (none), every public address (open), or what its org may (default)"),
	{ 0,   "no-secrets", NULL,        "remove all headers that were given by --secret" },
	END,
};
static const struct option_row RM[] = {
	{ 'f', "force",   NULL,        "ignore sessions that do not exist" },
	{ 'l', "label",   "KEY=VALUE", "delete all sessions with this label" },
	{ 0,   "all",     NULL,        "delete all sessions" },
	{ 'y', "yes",     NULL,        "do not ask" },
	{ 0,   "no-wait", NULL,        "do not wait until they are gone" },
	END,
};
static const struct option_row SNAPSHOT_CREATE[] = {
	{ 'n', "name", "NAME", "a name for it, for lists" },
	END,
};
static const struct option_row SNAPSHOT_LS[] = {
	{ 'q', "quiet", NULL, "print ids only" },
	END,
};
static const struct option_row OPEN[] = {
	{ 'p', "print",   NULL,      "print the URL, and start no browser" },
	{ 'n', "name",    "NAME",    "a name for it, if it is new" },
	{ 0,   "expires", "SECONDS", "end the URL after this time" },
	END,
};
static const struct option_row SSH_CONFIG[] = {
	{ 'w', "write",    NULL,   "write it to ~/.ssh/sandlease, for ~/.ssh/config to include" },
	{ 'i', "identity", "FILE", "log in with this private key, not ~/.ssh/sandlease/key" },
	{ 0,   "host",     "HOST", "name of the session for ssh, instead of sandlease-ID" },
	END,
};

static const struct command ROWS[] = {
	{ "run", cmd_run, "[COMMAND...]", "create a session, run a command in it, delete the session", RUN, .passes_codes = true },
	{ "create", cmd_create, "", "create a session, or use the one of this name", CREATE },
	{ "ls", cmd_ls, "", "list sessions", LS },
	{ "show", cmd_show, "ID...", "print a session: state, limits, network, ports, labels", NULL },
	{ "exec", cmd_exec, "ID [COMMAND...]", "run a command in a session as if it ran here", EXEC, .passes_codes = true },
	{ "shell", cmd_shell, "ID", "open a terminal in a session", SHELL, .passes_codes = true },
	{ "logs", cmd_logs, "ID [PROCESS]", "print the history of a session, or a process's output", LOGS },
	{ "cp", cmd_cp, "SOURCE TARGET", "copy files to or from a session, whose paths are ID:PATH", CP },
	{ "ps", cmd_ps, "ID", "list background processes of a session", PS },
	{ "kill", cmd_kill, "ID [PROCESS...]", "end background processes of a session", KILL },
	{ "interrupt", cmd_interrupt, "ID...", "end running commands; the session stays ready", INTERRUPT },
	{ "ports ls", cmd_ports_ls, "ID", "list preview URLs of a session", NULL },
	{ "ports add", cmd_ports_add, "ID PORT", "make a preview URL for a port", PORTS_ADD },
	{ "ports rm", cmd_ports_rm, "ID PORT", "end a preview URL", NULL },
	{ "ports rotate", cmd_ports_rotate, "ID PORT", "make a new URL for a port, and end the old one", NULL },
	{ "port-forward", cmd_port_forward, "ID [LOCAL:]PORT...", "connect a local port of 127.0.0.1 to a session", NULL },
	{ "open", cmd_open, "ID PORT", "open a preview in the browser", OPEN },
	{ "sleep", cmd_sleep, "ID...", "end what runs in sessions, and keep their files", SLEEP },
	{ "resume", cmd_resume, "ID...", "start sessions again, with their files", NULL },
	{ "wake", cmd_resume, "ID...", "the same as resume", NULL },
	{ "extend", cmd_extend, "ID TIME", "keep a session awake at least this long: 30m, 2h", NULL },
	{ "update", cmd_update, "ID", "change a session's times, variables and network", UPDATE },
	{ "label", cmd_label, "ID KEY=VALUE...", "set labels of a session; KEY- removes one", NULL },
	{ "rm", cmd_rm, "[ID...]", "delete sessions, and wait until they are gone", RM },
	{ "snapshot create", cmd_snapshot_create, "ID", "store a copy of a session's files", SNAPSHOT_CREATE },
	{ "snapshot ls", cmd_snapshot_ls, "[ID]", "list snapshots, of all sessions or of one", SNAPSHOT_LS },
	{ "snapshot rm", cmd_snapshot_rm, "SNAPSHOT...", "delete snapshots", NULL },
	{ "stats", cmd_stats, "[ID...]", "print what sessions use of their limits, and how long they run", NULL },
	{ "usage", cmd_usage, "", "print the org's quotas, and their use", NULL },
	{ "ssh-config", cmd_ssh_config, "ID", "print a Host entry for ssh, scp and editors", SSH_CONFIG },
	{ "login", cmd_login, "[URL]", "store the service's URL, and a key for it", NULL, .offline = true },
	{ "logout", cmd_logout, "", "remove what login has stored", NULL, .offline = true },
	{ "whoami", cmd_whoami, "", "print the owner of the key, and the service", NULL },
	{ "doctor", cmd_doctor, "", "test the service with a real session", NULL },
	{ "version", cmd_version, "", "print the versions of this program and the service", NULL, .offline = true },
	{ "help", cmd_help, "[TOPIC...]", "print the commands, or the options of one", NULL, .offline = true },
	{ "complete", cmd_complete, "[WORD...]", "print words that may follow, for completion in shells", NULL, .passes_codes = true, .offline = true, .hidden = true },
};

static const struct command_group GROUPS[] = {
	{ "ports", "preview URLs of a session" },
	{ "snapshot", "copies of the files of sessions" },
};
/* clang-format on */

const struct command_table COMMANDS = { ROWS, ARRAY_LEN(ROWS), GROUPS,
	ARRAY_LEN(GROUPS) };
