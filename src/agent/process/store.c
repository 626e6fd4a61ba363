/* store.c: keeps records and logs of background processes on the disk. */
#include "agent/process/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/record.h"
#include "common/json.h"
#include "common/mem.h"

enum { LOOKED_AT_MAX = 10000, KILLED = 128 + 9 };

#define LOG ".log"

const char *const PROCESS_STATUS_NAMES[] = { "running", "completed", "failed",
	"killed", "error", NULL };
_Static_assert(ARRAY_LEN(PROCESS_STATUS_NAMES) == PROCESS_STATUS__MAX + 1,
    "every status has a name");

bool
process_store_is_id(const char *id)
{
	static const char SET[] = "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				  "-_.:@+";

	return str_made_of(id, SET, 1, PROCESS_ID_MAX - 1) &&
	    !str_equal(id, ".") && !str_equal(id, "..");
}

/* ---- names */

static void
path_of(const char *id, const char *suffix, char out[PROCESS_PATH_MAX])
{
	record_path(PROCESS_DIR, id, suffix, out);
}

void
process_store_log(const char *id, char out[PROCESS_PATH_MAX])
{
	record_dir(PROCESS_DIR);
	path_of(id, LOG, out);
}

int64_t
process_store_bytes(const char *id)
{
	char path[PROCESS_PATH_MAX];
	struct stat st;

	path_of(id, LOG, path);
	return lstat(path, &st) == 0 ? (int64_t)st.st_blocks * 512 : 0;
}

void
process_store_remove(const char *id)
{
	static const char *const ALL[] = { RECORD_SUFFIX, LOG,
		RECORD_NEW_SUFFIX };
	char path[PROCESS_PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(ALL); i++) {
		path_of(id, ALL[i], path);
		(void)unlink(path);
	}
}

/* ---- writing */

void
process_store_write(const struct process_record *r)
{
	auto_json json_t *all =
	    json_pack("{s:s, s:s, s:o, s:s, s:i, s:b, s:s, s:i, s:b, s:s}",
		"id", r->id, "shell", r->shell, "command",
		json_lossy(r->command), "start", r->start, "pid", (int)r->pid,
		"autoCleanup", (int)r->auto_cleanup, "status",
		PROCESS_STATUS_NAMES[r->end.status], "exitCode",
		r->end.exit_code, "timedOut", (int)r->end.timed_out, "end",
		r->end.at);

	record_write(PROCESS_DIR, r->id, all);
}

/* ---- reading */

/* Members of a record that need a check or another type. */
struct record_rest {
	char start[CLOCK_ISO_MAX], end[CLOCK_ISO_MAX];
	int64_t pid, exit_code;
	int auto_cleanup, timed_out, status;
};

static bool
is_time(const char *s)
{
	return str_made_of(s, "0123456789-:.TZ", 20, CLOCK_ISO_MAX - 1);
}

static bool
decode_record(const json_t *body, struct process_record *r)
{
	static const struct jfield TEXTS[] = {
		JFIELD("id", struct process_record, id, J_STR, J_REQUIRED, 1,
		    PROCESS_ID_MAX - 1, "id of the process"),
		JFIELD("shell", struct process_record, shell, J_STR, J_REQUIRED,
		    1, SHELL_NAME_MAX - 1, "shell that it was started in"),
	};
	static const struct jfield REST[] = {
		JFIELD("start", struct record_rest, start, J_STR, J_REQUIRED, 1,
		    CLOCK_ISO_MAX - 1, "start time"),
		JFIELD("end", struct record_rest, end, J_STR, J_REQUIRED, 0,
		    CLOCK_ISO_MAX - 1, "end time"),
		JFIELD("pid", struct record_rest, pid, J_INT, J_REQUIRED, 0,
		    INT32_MAX, "process number"),
		JFIELD("exitCode", struct record_rest, exit_code, J_INT,
		    J_REQUIRED, 0, 255, "exit code"),
		JFIELD("autoCleanup", struct record_rest, auto_cleanup, J_BOOL,
		    J_REQUIRED, 0, 1, "forget it after its end"),
		JFIELD("timedOut", struct record_rest, timed_out, J_BOOL,
		    J_REQUIRED, 0, 1, "the timeout ended it"),
		JFIELD_ENUM("status", struct record_rest, status, J_REQUIRED,
		    PROCESS_STATUS_NAMES, "status"),
	};
	const char *command = json_str(body, "command");
	struct record_rest t = { 0 };
	struct err e;

	if (str_empty(command) || strlen(command) > PROCESS_COMMAND_MAX ||
	    jfield_decode(body, TEXTS, ARRAY_LEN(TEXTS), J_LENIENT, r, &e) <
		0 ||
	    jfield_decode(body, REST, ARRAY_LEN(REST), J_LENIENT, &t, &e) < 0 ||
	    !is_time(t.start) || (t.end[0] != '\0' && !is_time(t.end)))
		return false;
	r->command = xstrdup(command);
	str_copy(r->start, sizeof(r->start), t.start);
	str_copy(r->end.at, sizeof(r->end.at), t.end);
	r->pid = (pid_t)t.pid;
	r->auto_cleanup = t.auto_cleanup == 1;
	r->end.status = (enum process_status)t.status;
	r->end.exit_code = (int)t.exit_code;
	r->end.timed_out = t.timed_out == 1;
	return true;
}

/* Reads the record of `id`; false unless the file is a plausible record. */
static bool
read_record(const char *id, struct process_record *r)
{
	auto_json json_t *body = record_read(PROCESS_DIR, id);

	*r = (struct process_record){ 0 };
	if (body == NULL || !decode_record(body, r))
		return false;
	if (r->end.status == PROCESS_RUNNING)
		/* the old wrapper's end killed all processes of the cell */
		r->end = (struct process_end){ .status = PROCESS_KILLED,
			.exit_code = KILLED };
	return str_equal(r->id, id) && !r->auto_cleanup;
}

/* Parses "ID.SUFFIX"; false when `name` is not a name of our files. */
static bool
id_of(const char *name, char id[PROCESS_ID_MAX], const char **suffix)
{
	const char *dot = strrchr(name, '.');

	if (dot == NULL || (size_t)(dot - name) >= PROCESS_ID_MAX)
		return false;
	memcpy(id, name, (size_t)(dot - name));
	id[dot - name] = '\0';
	*suffix = dot;
	return process_store_is_id(id);
}

static int
by_age(const void *a, const void *b)
{
	const struct process_record *x = a, *y = b;
	int order = strcmp(x->start, y->start);

	return order != 0 ? order : strcmp(x->id, y->id);
}

/* Adds a record to `all`; removes files that have no valid record. */
static void
load_file(const char *name, struct process_record **all, size_t *count)
{
	struct process_record r;
	char id[PROCESS_ID_MAX];
	const char *suffix;

	if (!id_of(name, id, &suffix))
		return;
	if (!read_record(id, &r)) {
		process_store_remove(id);
	} else if (str_equal(suffix, RECORD_SUFFIX)) {
		*all = xrealloc(*all, (*count + 1) * sizeof(**all));
		(*all)[*count] = r;
		(*all)[(*count)++].command = TAKE(r.command);
	}
	free(r.command);
}

struct process_record *
process_store_load(size_t *count)
{
	struct process_record *all = NULL;
	DIR *d = opendir(PROCESS_DIR);
	const struct dirent *ent;
	size_t looked = 0;

	*count = 0;
	if (d == NULL)
		return NULL;
	while (looked++ < LOOKED_AT_MAX && (ent = readdir(d)) != NULL)
		load_file(ent->d_name, &all, count);
	closedir(d);
	if (*count > 0)
		qsort(all, *count, sizeof(*all), by_age);
	return all;
}
