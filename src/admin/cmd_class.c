/* cmd_class.c: lists, adds and changes classes of sandboxes. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "admin/network_spec.h"
#include "common/json.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/control.h"
#include "control/rootfs_control.h"
#include "domain/limits.h"

static const struct column COLUMNS[] = {
	{ "CLASS", "class" },
	{ "MEMORY-MB", "memoryMb" },
	{ "CPU-MILLIS", "cpuMillis" },
	{ "DISK-MB", "diskMb" },
	{ "PIDS", "pids" },
	{ "CPU-SECONDS", "cpuSeconds" },
	{ "WALL-SECONDS", "wallSeconds" },
	{ "SANDBOXES", "sandboxes" },
	{ "ROOTFS", "rootfs" },
	{ "WRITABLE-ROOT", "writableRoot" },
	{ "NETWORK", "network", COLUMN_POLICY },
};

/* An agent does not start with less than the minimum. */
static const struct {
	const char *option, *column;
	int64_t min, max;
	int64_t usual; /* of a new class; 0: it must be given */
} LIMITS[] = {
	{ "--memory-mb", "memory_mb", 64, 16 * 1024 * 1024, 0 },
	{ "--cpu-millis", "cpu_millis", 10, 1024 * 1000, 0 },
	{ "--disk-mb", "disk_mb", 16, 1024 * 1024 * 1024, 0 },
	{ "--pids", "pids", 32, 4 * 1024 * 1024, 0 },
	{ "--cpu-seconds", "cpu_seconds", 1, LIMITS_SECONDS_MAX, 86400 },
	{ "--wall-seconds", "wall_seconds", 1, LIMITS_SECONDS_MAX, 86400 },
};

static const char NAME_CHARS[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

int
cmd_class_list(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_CLASSES,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

/* `path` becomes the root of sandboxes; "": the host's system directories. */
static int
check_rootfs(const char *path, struct err *e)
{
	struct stat st;

	if (path[0] == '\0')
		return 0;
	if (path[0] != '/' || strlen(path) >= SANDBOX_ROOTFS_MAX)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--rootfs %s: must be an absolute path of at most %d bytes, or empty",
		    path, SANDBOX_ROOTFS_MAX - 1);
	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--rootfs %s: there is no such directory on this host",
		    path);
	return 0;
}

static int
read_root(struct admin *a, json_t *spec, struct err *e)
{
	const char *rootfs = admin_option(a, "--rootfs");
	const char *writable = admin_option(a, "--writable-root");
	bool yes = writable != NULL && str_equal(writable, "yes");

	if (rootfs != NULL && check_rootfs(rootfs, e) < 0)
		return -1;
	if (writable != NULL && !yes && !str_equal(writable, "no"))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--writable-root %s: must be yes or no", writable);
	if (yes && !str_empty(rootfs) &&
	    rootfs_control_check_writable(a->conf, rootfs, e) < 0)
		return err_wrap(e, "--rootfs");
	if (rootfs != NULL)
		json_object_set_new(spec, "rootfs", json_lossy(rootfs));
	if (writable != NULL)
		json_object_set_new(spec, "writable_root", json_boolean(yes));
	return 0;
}

static int
read_network(struct admin *a, json_t *spec, struct err *e)
{
	const char *text = admin_option(a, "--network-max");
	json_t *policy = NULL;

	if (text == NULL)
		return 0;
	if (network_spec_read("--network-max", text, &policy, e) < 0)
		return -1;
	json_object_set_new(spec, "network_max", policy);
	return 0;
}

/* Explains an error of the database to the operator. */
static int
explain_refusal(const char *name, struct err *e)
{
	if (e->code == CODE_ALREADY_EXISTS)
		return err_set(e, ERR_CONFLICT, CODE_ALREADY_EXISTS,
		    "there is a class %s already; class set changes it", name);
	if (e->code == CODE_UNKNOWN_PRESET)
		return err_wrap(e, "--network-max");
	if (e->code == CODE_NO_ROOTFS)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--writable-root: class %s must have a --rootfs; the host's own directories cannot be changed",
		    name);
	return -1;
}

/* The JSON for class_put(): the options that were given; with `all`, each limit
 * is required.  NULL with e set. */
static char *
read_limits(struct admin *a, bool all, struct err *e)
{
	auto_json json_t *spec = json_object();

	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++) {
		const char *text = admin_option(a, LIMITS[i].option);
		int64_t n;

		if (text == NULL && all && LIMITS[i].usual > 0)
			json_object_set_new(spec, LIMITS[i].column,
			    json_integer(LIMITS[i].usual));
		if (text == NULL && all && LIMITS[i].usual == 0) {
			err_set(e, ERR_INVALID, CODE_USAGE,
			    "class add needs %s", LIMITS[i].option);
			return NULL;
		}
		if (text == NULL)
			continue;
		if (!str_to_int(text, LIMITS[i].min, LIMITS[i].max, &n)) {
			err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s %s: must be a number from %lld to %lld",
			    LIMITS[i].option, text, (long long)LIMITS[i].min,
			    (long long)LIMITS[i].max);
			return NULL;
		}
		json_object_set_new(spec, LIMITS[i].column, json_integer(n));
	}
	if (read_root(a, spec, e) < 0 || read_network(a, spec, e) < 0)
		return NULL;
	if (json_object_size(spec) == 0) {
		admin_usage(a, e);
		return NULL;
	}
	return json_text(spec);
}

int
cmd_class_add(struct admin *a, struct err *e)
{
	auto_free char *spec = NULL;
	const char *name;

	if (admin_only_argument(a, &name, e) < 0)
		return -1;
	if (!str_made_of(name, NAME_CHARS, 1, 64))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: a class has 1 to 64 letters, digits and ._-", name);
	spec = read_limits(a, true, e);
	if (spec == NULL)
		return -1;
	if (STORE_RUN(a->store, STMT_CLASS_ADD, NULL, e, name, spec) < 0)
		return explain_refusal(name, e);
	printf("class %s is added\n", name);
	return 0;
}

int
cmd_class_set(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	const char *name;

	if (admin_only_argument(a, &name, e) < 0)
		return -1;
	spec = read_limits(a, false, e);
	if (spec == NULL)
		return -1;
	if (STORE_RUN(a->store, STMT_CLASS_SET, &r, e, name, spec) < 0)
		return explain_refusal(name, e);
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN_CLASS,
		    "there is no class %s; see class list", name);
	if (rows_int(r, 0, "sessions") > 0)
		return err_set(e, ERR_CONFLICT, CODE_RESOURCE_BUSY,
		    "--rootfs: class %s has sessions that may have changed its root (%lld); add a class for the new one",
		    name, (long long)rows_int(r, 0, "sessions"));
	printf(
	    "class %s is changed; a sandbox has new limits when it is next started, a network at once\n",
	    name);
	return 0;
}
