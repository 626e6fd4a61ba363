/* conf.c: reads and prints the settings. */
#include "common/conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/address.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

enum conf_type { CONF_STR, CONF_INT, CONF_LIST, CONF_ENUM };
enum {
	FILE_MAX_BYTES = 64 * 1024,
	QUOTA_MAX = 1000 * 1000 * 1000,
	PORT_DIGITS = 5,
	/* 107 bytes of sun_path less /c/<sandbox: 52>.<incarnation: 16> */
	RUN_DIR_MAX = 35
};

struct setting {
	const char *name;
	enum conf_type type;
	size_t offset;
	const char *initial;
	int64_t min, max;
	const char *const *names; /* CONF_ENUM */
	const char *help;
};

#define STR(n, d, h) STR_MAX(n, d, CONF_STR_MAX - 1, h)
#define STR_MAX(n, d, hi, h)                                                   \
	{                                                                      \
#n, CONF_STR, offsetof(struct conf, n), d, 0, hi, NULL, h      \
	}
#define INT(n, d, lo, hi, h)                                                   \
	{                                                                      \
#n, CONF_INT, offsetof(struct conf, n), d, lo, hi, NULL, h     \
	}
#define LIST(n, d, lo, hi, h)                                                  \
	{                                                                      \
#n, CONF_LIST, offsetof(struct conf, n), d, lo, hi, NULL, h    \
	}
#define ENUM(n, d, names_, h)                                                  \
	{                                                                      \
#n, CONF_ENUM, offsetof(struct conf, n), d, 0, 0, names_, h    \
	}

static const char *const LAUNCHER_NAMES[] = { "auto", "own", "bwrap", NULL };
static const char *const FILTER_NAMES[] = { "auto", "none", NULL };

/* clang-format off */
static const struct setting SETTINGS[] = {
	STR(user, "sandlease", "the user that the programs run as if root starts them"),
	STR(database, "dbname=sandlease", "libpq connection string; direct or session-pooled; the password belongs in a `passfile`"),
	STR_MAX(run_dir, "/run/sandlease", RUN_DIR_MAX, "directory of sockets; at most 35 bytes, because the whole name of a socket has at most 107"),
	STR(state_dir, "/var/lib/sandlease", "workspaces, agent logs, trash"),
	STR(artifact_dir, "", "what executions leave: output and collected files; empty: `artifacts` in `state_dir`"),
	STR(seal_key_file, "/etc/sandlease/seal.keys", "keys that seal env values and preview tokens, mode 0600; newest first"),
	STR(agent_path, SANDLEASE_LIBEXECDIR "/sandlease-agent", "the program that is bound into every sandbox"),
	STR(bwrap_path, "/usr/bin/bwrap", "bubblewrap"),
	ENUM(launcher, "auto", LAUNCHER_NAMES, "which program makes sandboxes: `own`: `sandlease-launch` beside the agent; `bwrap`: bubblewrap; `auto`: `own`, and bubblewrap where the kernel lacks what that needs"),
	STR(cgroup_root, "auto", "delegated cgroup below the mount points; `auto`: the service's own; `none`: no cgroup, limits by rlimits and a watchdog"),
	STR(public_url, "http://127.0.0.1:8080", "where clients and the dashboard reach nginx: scheme, host and port, no path"),
	STR(preview_base, "http://localhost:8080", "scheme and domain of preview URLs; anything but localhost must be https"),
	STR(preview_path_base, "", "origin of path-form previews, for machines without wildcard DNS; empty: off"),
	STR(per_session_orgs, "", "orgs whose every session gets a sandbox of its own, comma separated; `*`: all"),
	STR(host_name, "", "name of this host in the database; empty: the machine's own"),
	ENUM(log_level, "info", LOG_LEVEL_NAMES, "`error`, `warn`, `info` or `debug`"),
	ENUM(log_format, "kv", LOG_FORMAT_NAMES, "`kv` or `json`"),
	INT(api_workers, "16", 1, 256, "workers of the control plane; calls of one org hold at most half of them for long"),
	INT(read_workers, "4", 1, 256, "workers for GETs and `/v1/health`, which wait for no sandbox that starts or stops"),
	INT(auth_workers, "4", 1, 256, "workers that answer nginx's `auth_request`"),
	INT(auth_cache_entries, "4096", 0, 1 << 20, "answers that each of these workers keeps, until something takes the right away; 0: none, every request asks the database"),
	INT(stream_workers, "2", 1, 64, "processes that event streams pass through"),
	INT(stream_connections, "4096", 1, 65536, "streams that each of these processes takes; a stream needs two descriptors"),
	INT(stream_drain_seconds, "60", 0, 86400, "streams stay open for this long after the service is told to stop"),
	INT(sleep_after_seconds, "600", 1, 31536000, "an idle session sleeps after this, unless it has its own `sleepAfterSeconds`"),
	INT(startup_allowance_seconds, "600", 1, 86400, "a start that takes longer is stopped and repaired"),
	INT(warm_sandboxes, "auto", CONF_AUTO, 4096, "own sandboxes that are started before they are asked for; `auto`: as many as fit 2 % of the memory, at least 4 and at most 256"),
	STR(warm_classes, "small", "the classes that have them"),
	INT(setup_timeout_seconds, "600", 1, 86400, "the `setup` of a session may take this long, in addition"),
	INT(ready_without_work_seconds, "60", 1, 86400, "without effect, for old files: a ready session sleeps by `sleep_after_seconds`, with or without work"),
	INT(stop_watchdog_seconds, "45", 1, 3600, "one attempt to stop a wrapper may take this long"),
	LIST(stop_looks_ms, "100,500,1000", 1, 60000, "milliseconds after SIGTERM at which to check whether a wrapper has ended; after the last check SIGKILL"),
	LIST(stop_retry_seconds, "5,30,120,300", 1, 86400, "pause after each attempt to stop that was not confirmed; the last value is repeated"),
	INT(stop_alert_attempts, "5", 1, 1000, "after this many attempts to stop a session each reaper pass and `/v1/health` report it"),
	INT(discovery_seconds, "10", 1, 60, "the search for a wrapper may take this long"),
	INT(activity_write_seconds, "30", 1, 3600, "activity is written at most this often"),
	INT(sandbox_idle_seconds, "600", 1, 86400, "a shared sandbox in which nothing runs is stopped after this"),
	INT(orphan_seconds, "600", 1, 86400, "a session that is `initializing` for longer is an orphan: it is stopped and becomes `failed`"),
	INT(stuck_seconds, "1800", 1, 604800, "a session that is busy but without output, CPU time or traffic for longer is stuck: it is put to sleep"),
	INT(too_old_seconds, "86400", 1, 31536000, "a session that has run for longer without a pause is put to sleep, unless it has `keepAlive`"),
	INT(failed_files_seconds, "86400", 1, 31536000, "the files of a failed session are kept this long"),
	INT(sighting_seconds, "300", 0, 86400, "a process, directory or socket without a row is removed when it is seen a second time after this"),
	INT(reaper_pass_seconds, "50", 1, 3600, "a reaper pass ends after this; the next one continues"),
	INT(reaper_batch, "50", 1, 50, "the reaper stops this many sessions at once"),
	INT(reaper_retry_percent, "20", 1, 100, "percent of a pass's time for stops that failed before"),
	INT(retention_days, "90", 1, 3650, "rows of ended sessions, and events, are kept this long"),
	INT(retention_sessions, "100000", 0, QUOTA_MAX, "deleted sessions of an org that are kept, the newest; 0: any number"),
	INT(agent_log_kb, "256", 16, 65536, "an agent's log is kept below this size"),
	INT(quota_sessions, "1000", 0, QUOTA_MAX, "sessions an org may have, asleep or not; 0: any number, here and below"),
	INT(quota_active, "100", 0, QUOTA_MAX, "sessions of an org that may be starting, ready, going to sleep or frozen"),
	INT(quota_creates_per_minute, "120", 0, QUOTA_MAX, "sessions an org may create within 60 seconds; ten times as many creates may find one"),
	INT(quota_previews, "50", 0, QUOTA_MAX, "preview URLs an org may have"),
	INT(quota_disk_mb, "0", 0, QUOTA_MAX, "disk an org's sandboxes may reserve, each its class's, while they hold files; 0: as much as the other quotas let it"),
	INT(quota_snapshots, "100", 0, QUOTA_MAX, "snapshots an org may have"),
	INT(quota_snapshot_mb, "20480", 0, QUOTA_MAX, "disk that all snapshots of an org together may take"),
	INT(snapshot_seconds, "300", 1, 3600, "taking a snapshot, or copying one into a new session, may take this long"),
	INT(snapshot_spares, "1", 0, 1, "a copy of each snapshot is made in advance, for the next session that is made of it, while there is room; 0: none"),
	INT(snapshot_days, "0", 0, 3650, "snapshots are kept this long; 0: until they are deleted"),
	INT(artifact_mb, "100", 1, 1 << 20, "files that an execution may leave, beside 8 MB of output"),
	INT(artifact_days, "30", 1, 3650, "output and files of executions are kept this long, at most `retention_days`"),
	INT(quota_artifact_mb, "10240", 0, QUOTA_MAX, "output and files of executions that are kept for an org; 0: any number"),
	INT(capacity_min_mb, "2048", 0, 1 << 30, "a new workspace needs this much free space where it will lie, and as large a part of the inodes"),
	INT(disk_budget_mb, "0", 0, 1 << 30, "disk of this host that the classes of all sandboxes together may reserve; 0: no limit, they may reserve more than there is"),
	INT(disk_low_mb, "1024", 0, 1 << 30, "below this much free space the heaviest writer is frozen and nothing new is admitted; 0: off"),
	INT(ballast_mb, "256", 0, 1 << 20, "size of a file that is deleted, to make room for PostgreSQL, when a quarter of disk_low_mb is left; 0: none"),
	INT(disk_account_seconds, "300", 0, 86400, "the disk use of a session is measured this often; 0: never"),
	INT(sample_seconds, "30", 0, 3600, "a pass of the reaper adds a sample of what a session uses if the last one is this old; 0: never"),
	STR(egress_resolver, "", "up to 8 DNS servers that resolve names for sandboxes, address:port, comma separated; empty: the machine's"),
	STR(egress_allow_private, "", "addresses that sandboxes may reach although they are not public, such as `10.1.2.0/24, fd00::7`, if a policy allows their name"),
	STR(egress_ca_file, "", "certificates that servers must be signed by, where TLS is ended for secrets, in PEM; empty: those that the machine trusts"),
	STR(egress_proxy, "", "HTTP proxy of the site, through which servers are reached, such as `http://proxy.example.com:3128`; empty: none"),
	ENUM(egress_filter, "auto", FILTER_NAMES, "`auto`: a packet filter in each sandbox redirects connections, where the kernel has nf_tables; `none`: a listener for each port does"),
	INT(egress_connections, "256", 1, 65536, "connections that a session may have at once"),
	INT(egress_connections_total, "16384", 2, 1 << 20, "connections that all sessions of this host may have at once; one org has at most half of them"),
	INT(egress_mb_per_second, "0", 0, 1 << 20, "megabytes that a session may pass in a second, both ways together; 0: no limit"),
	STR(webhook_allow_private, "", "addresses that webhooks may be sent to although they are not public, such as `10.1.2.0/24, fd00::7`"),
};
/* clang-format on */

static int
set_list(const struct setting *s, const char *value, struct conf_list *to,
    const char *where, int line, struct err *e)
{
	auto_free char *copy = xstrdup(value);
	char *rest = copy;

	to->count = 0;
	for (char *word; (word = strsep(&rest, ",")) != NULL; to->count++)
		if (to->count == CONF_LIST_MAX ||
		    !str_to_int(word, s->min, s->max, &to->at[to->count]))
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "%s:%d: %s: must be 1 to %d numbers from %" PRId64
			    " to %" PRId64 ", separated by commas",
			    where, line, s->name, CONF_LIST_MAX, s->min,
			    s->max);
	return 0;
}

static int
set_value(const struct setting *s, const char *value, struct conf *c,
    const char *where, int line, struct err *e)
{
	char *to = (char *)c + s->offset;
	int64_t n = 0;

	switch (s->type) {
	case CONF_STR:
		if (!str_copy(to, (size_t)s->max + 1, value))
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "%s:%d: %s: longer than %" PRId64 " bytes", where,
			    line, s->name, s->max);
		return 0;
	case CONF_INT:
		if (s->min == CONF_AUTO && str_equal(value, "auto"))
			n = CONF_AUTO;
		else if (!str_to_int(value, s->min, s->max, &n))
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "%s:%d: %s: must be %sa number from %" PRId64
			    " to %" PRId64,
			    where, line, s->name,
			    s->min == CONF_AUTO ? "auto, or " : "",
			    s->min == CONF_AUTO ? 0 : s->min, s->max);
		break;
	case CONF_LIST:
		return set_list(s, value, (struct conf_list *)(void *)to, where,
		    line, e);
	case CONF_ENUM:
		while (s->names[n] != NULL && !str_equal(s->names[n], value))
			n++;
		if (s->names[n] == NULL)
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "%s:%d: %s: must be %s", where, line, s->name,
			    s->help);
		break;
	}
	memcpy(to, &n, sizeof(n));
	return 0;
}

static char *
trim(char *s)
{
	char *end;

	while (isspace((unsigned char)*s))
		s++;
	end = s + strlen(s);
	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return s;
}

static int
parse_line(const char *name, int number, char *line, bool *seen, struct conf *c,
    struct err *e)
{
	char *eq, *key;

	line = trim(line);
	if (*line == '\0' || *line == '#')
		return 0;
	eq = strchr(line, '=');
	if (eq == NULL)
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "%s:%d: must be key = value", name, number);
	*eq = '\0';
	key = trim(line);
	for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++) {
		if (!str_equal(SETTINGS[i].name, key))
			continue;
		if (seen[i])
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "%s:%d: %s is set twice", name, number, key);
		seen[i] = true;
		return set_value(&SETTINGS[i], trim(eq + 1), c, name, number,
		    e);
	}
	return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
	    "%s:%d: %s is not a setting", name, number, key);
}

static int
set_defaults(struct conf *c, struct err *e)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++)
		if (set_value(&SETTINGS[i], SETTINGS[i].initial, c, "default",
			(int)i, e) < 0)
			return -1;
	return 0;
}

int
conf_parse(const char *name, char *text, struct conf *c, struct err *e)
{
	bool seen[ARRAY_LEN(SETTINGS)] = { false };
	int number = 0;

	if (set_defaults(c, e) < 0)
		return -1;
	for (char *line = text, *next; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (parse_line(name, ++number, line, seen, c, e) < 0)
			return -1;
	}
	return 0;
}

static int
add_environment(struct conf *c, struct err *e)
{
	const char *orgs = getenv("PER_SESSION_SANDBOX_ORG_IDS");
	auto_free char *both = NULL;

	if (str_empty(orgs))
		return 0;
	both = xasprintf("%s,%s", c->per_session_orgs, orgs);
	if (!str_copy(c->per_session_orgs, CONF_STR_MAX, both))
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "PER_SESSION_SANDBOX_ORG_IDS: too long");
	return 0;
}

/*
 * True when url is http(s)://host[:port] and nothing more.  "host." is refused:
 * it names the same host, but a comparison with "host" would fail.
 */
static bool
is_origin(const char *url)
{
	static const char DIGITS[] = "0123456789",
			  NAME[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_",
			  IPV6[] = "0123456789abcdefABCDEF:.";
	const char *at = strstr(url, "://");
	size_t len;

	if (!str_starts(url, "https://") && !str_starts(url, "http://"))
		return false;
	at += strlen("://");
	if (at[0] == '[') {
		len = 1 + strspn(at + 1, IPV6);
		if (at[len++] != ']')
			return false;
	} else {
		len = strspn(at, NAME);
		if (len == 0 || at[len - 1] == '.')
			return false;
	}
	at += len;
	return *at == '\0' ||
	    (*at == ':' && str_made_of(at + 1, DIGITS, 1, PORT_DIGITS));
}

static int
check_origin(const char *what, const char *url, struct err *e)
{
	if (is_origin(url))
		return 0;
	return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
	    "%s: must be like https://host or https://host:port, without a path",
	    what);
}

/*
 * A preview URL is a bearer token: everyone who reads it can use it.  So it
 * must not cross a network unencrypted.
 */
static int
check_preview_base(const char *what, const char *url, struct err *e)
{
	const char *host = url + strlen("http://");
	size_t len;

	if (str_empty(url))
		return 0; /* this form is off */
	if (check_origin(what, url, e) < 0)
		return -1;
	if (!str_starts(url, "http://"))
		return 0;
	len = strcspn(host, ":");
	if ((len == strlen("localhost") && str_starts(host, "localhost")) ||
	    (len == strlen("127.0.0.1") && str_starts(host, "127.0.0.1")) ||
	    (len > strlen(".localhost") &&
		str_starts(host + len - strlen(".localhost"), ".localhost")))
		return 0;
	return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
	    "%s: must be https unless it is localhost", what);
}

/* Hides the host's own paths from tenants: see err_told(). */
static void
hide_host_paths(const struct conf *c)
{
	const char *const paths[] = { c->state_dir, c->run_dir,
		c->seal_key_file, c->agent_path, c->bwrap_path,
		"/sys/fs/cgroup" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		err_host_path(paths[i]);
}

static int
check_addresses(const char *what, const char *text, struct err *e)
{
	struct address_list ignored;

	return address_list_parse(text, &ignored, e) < 0
	    ? err_wrap(e, "%s", what)
	    : 0;
}

int
conf_load(const char *path, struct conf *c, struct err *e)
{
	auto_free char *text = xmalloc(FILE_MAX_BYTES + 1);
	auto_fd int fd = -1;
	ssize_t n;

	if (path == NULL)
		path = getenv("SANDLEASE_CONFIG");
	if (path == NULL)
		path = SANDLEASE_SYSCONFDIR "/sandlease/sandlease.conf";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "%s", path);
	n = read(fd, text, FILE_MAX_BYTES);
	if (n < 0)
		return err_errno(e, "%s", path);
	if (n == FILE_MAX_BYTES)
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "%s: has more than %d bytes", path, FILE_MAX_BYTES - 1);
	text[n] = '\0';
	if (conf_parse(path, text, c, e) < 0 || add_environment(c, e) < 0 ||
	    check_origin("public_url", c->public_url, e) < 0 ||
	    check_preview_base("preview_base", c->preview_base, e) < 0 ||
	    check_preview_base("preview_path_base", c->preview_path_base, e) <
		0 ||
	    check_addresses("webhook_allow_private", c->webhook_allow_private,
		e) < 0)
		return -1;
	if (c->host_name[0] == '\0' &&
	    gethostname(c->host_name, CONF_STR_MAX - 1) < 0)
		return err_errno(e, "gethostname");
	hide_host_paths(c);
	return 0;
}

static void
print_list(const struct setting *s, const char *at, FILE *to)
{
	struct conf_list list;

	memcpy(&list, at, sizeof(list));
	fprintf(to, "%s = ", s->name);
	for (size_t i = 0; i < list.count; i++)
		fprintf(to, "%s%" PRId64, i > 0 ? "," : "", list.at[i]);
	fputc('\n', to);
}

void
conf_print(const struct conf *c, FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++) {
		const struct setting *s = &SETTINGS[i];
		const char *at = (const char *)c + s->offset;
		int64_t n;

		memcpy(&n, at, sizeof(n));
		if (s->type == CONF_STR)
			fprintf(to, "%s = %s\n", s->name, at);
		else if (s->type == CONF_INT && n == CONF_AUTO)
			fprintf(to, "%s = auto\n", s->name);
		else if (s->type == CONF_INT)
			fprintf(to, "%s = %" PRId64 "\n", s->name, n);
		else if (s->type == CONF_LIST)
			print_list(s, at, to);
		else
			fprintf(to, "%s = %s\n", s->name, s->names[n]);
	}
}

void
conf_print_help(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++)
		fprintf(to, "| `%s` | `%s` | %s |\n", SETTINGS[i].name,
		    SETTINGS[i].initial, SETTINGS[i].help);
}

void
conf_print_example(FILE *to)
{
	fputs(
	    "# sandlease.conf: every setting with its default; see sandlease.conf(5).\n",
	    to);
	for (size_t i = 0; i < ARRAY_LEN(SETTINGS); i++)
		fprintf(to, "\n# %s\n#%s = %s\n", SETTINGS[i].help,
		    SETTINGS[i].name, SETTINGS[i].initial);
}
