/*
 * conf.h: reads and prints the settings; the table in conf.c has a row for
 * each.
 *
 * A line of the file is "key = value"; '#' begins a comment.  Unknown keys,
 * duplicates and bad values are errors that name file and line.  Secrets are
 * not settings: a setting names the file that holds them.  t/lint/config.t
 * compares sandlease.conf(5) with the table.
 */
#ifndef SANDLEASE_COMMON_CONF_H
#define SANDLEASE_COMMON_CONF_H

#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

enum {
	CONF_STR_MAX = 512,
	CONF_LIST_MAX = 8,
	CONF_AUTO = -1 /* a number that the program chooses */
};

/* Numbers separated by commas. */
struct conf_list {
	int64_t at[CONF_LIST_MAX];
	size_t count; /* at least one */
};

enum launcher { LAUNCHER_AUTO, LAUNCHER_OWN, LAUNCHER_BWRAP };

struct conf {
	char user[CONF_STR_MAX];
	char database[CONF_STR_MAX];
	char run_dir[CONF_STR_MAX];
	char state_dir[CONF_STR_MAX];
	char artifact_dir[CONF_STR_MAX];
	char seal_key_file[CONF_STR_MAX];
	char agent_path[CONF_STR_MAX];
	char bwrap_path[CONF_STR_MAX];
	int64_t launcher; /* enum launcher */
	char cgroup_root[CONF_STR_MAX];
	char public_url[CONF_STR_MAX];
	char preview_base[CONF_STR_MAX];
	char preview_path_base[CONF_STR_MAX];
	char per_session_orgs[CONF_STR_MAX];
	char host_name[CONF_STR_MAX];
	int64_t log_level;  /* enum log_level */
	int64_t log_format; /* enum log_format */
	int64_t api_workers;
	int64_t read_workers;
	int64_t auth_workers;
	int64_t auth_cache_entries;
	int64_t stream_workers;
	int64_t stream_connections;
	int64_t stream_drain_seconds;
	int64_t sleep_after_seconds;
	int64_t startup_allowance_seconds;
	int64_t warm_sandboxes; /* CONF_AUTO: as many as fit the memory */
	char warm_classes[CONF_STR_MAX];
	int64_t setup_timeout_seconds;
	int64_t ready_without_work_seconds;
	int64_t stop_watchdog_seconds;
	struct conf_list stop_looks_ms;
	struct conf_list stop_retry_seconds;
	int64_t stop_alert_attempts;
	int64_t discovery_seconds;
	int64_t activity_write_seconds;
	int64_t sandbox_idle_seconds;
	int64_t orphan_seconds;
	int64_t stuck_seconds;
	int64_t too_old_seconds;
	int64_t failed_files_seconds;
	int64_t sighting_seconds;
	int64_t reaper_pass_seconds;
	int64_t reaper_batch;
	int64_t reaper_retry_percent;
	int64_t retention_days, retention_sessions;
	int64_t agent_log_kb;
	int64_t quota_sessions; /* of an org; in all quotas 0 means no limit */
	int64_t quota_active;
	int64_t quota_creates_per_minute;
	int64_t quota_previews;
	int64_t quota_disk_mb;
	int64_t quota_snapshots;
	int64_t quota_snapshot_mb;
	int64_t snapshot_seconds;
	int64_t snapshot_spares;
	int64_t snapshot_days;
	int64_t capacity_min_mb;
	int64_t disk_budget_mb;
	int64_t disk_low_mb;
	int64_t artifact_mb, artifact_days, quota_artifact_mb;
	int64_t ballast_mb;
	int64_t disk_account_seconds;
	int64_t sample_seconds;
	char egress_resolver[CONF_STR_MAX];
	char egress_allow_private[CONF_STR_MAX];
	char egress_ca_file[CONF_STR_MAX];
	char egress_proxy[CONF_STR_MAX];
	int64_t egress_filter; /* 0: where the kernel has one; 1: none */
	int64_t egress_connections;
	int64_t egress_connections_total;
	int64_t egress_mb_per_second;
	char webhook_allow_private[CONF_STR_MAX];
};

/*
 * Fills *c with defaults, then from the file, then from the environment
 * (PER_SESSION_SANDBOX_ORG_IDS is added to per_session_orgs).  With a NULL
 * `path` the file is $SANDLEASE_CONFIG, else the one in the installation's
 * configuration directory.
 */
int conf_load(const char *path, struct conf *c, struct err *e) MUST_CHECK;

/* Fills *c with defaults, then from the text of a file called `name`. */
int conf_parse(const char *name, char *text, struct conf *c, struct err *e)
    MUST_CHECK;

/* Prints every setting with its value, in a form that conf_load() reads. */
void conf_print(const struct conf *c, FILE *to);

/* Prints name, default and meaning as rows of a Markdown table. */
void conf_print_help(FILE *to);

/* Prints an example file: every setting, commented out. */
void conf_print_example(FILE *to);

#endif
