/* cmd_profile.c: lists, changes and deletes profiles of agent types. */
#include <stdio.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "admin/network_spec.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/control.h"
#include "domain/limits.h"

static const struct column COLUMNS[] = {
	{ "TYPE", "agentType" },
	{ "ORG", "org" },
	{ "MEMORY-MB", "memoryMb" },
	{ "CPU-SECONDS", "cpuSeconds" },
	{ "WALL-SECONDS", "wallSeconds" },
	{ "REQUESTS", "networkRequests" },
	{ "PIDS", "pids" },
	{ "DISK-MB", "diskMb" },
	{ "NETWORK", "network", COLUMN_POLICY },
	{ "COMMAND", "command", COLUMN_START },
};

/* The options, in the order of LIMITS_FIELDS. */
static const char *const OPTIONS[] = { "--memory-mb", "--cpu-seconds",
	"--wall-seconds", "--pids", "--disk-mb", "--network-requests" };

int
cmd_profile_list(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_PROFILES,
		.filters = { admin_option(a, "--org") },
		.filter_count = 1,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

/* Reads the operand TYPE and the option --org; *org is "" without it. */
static int
read_type(struct admin *a, const char **type, const char **org, struct err *e)
{
	*org = admin_option(a, "--org");
	if (*org == NULL)
		*org = "";
	if (admin_only_argument(a, type, e) < 0)
		return -1;
	if (!limits_is_agent_type(*type))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: an agent type has 1 to %d letters, digits and ._-",
		    *type, AGENT_TYPE_MAX - 1);
	return 0;
}

/* The limits that were given. */
static int
read_limits(struct admin *a, json_t *limits, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++) {
		const struct jfield *f = &LIMITS_FIELDS[i];
		const char *text = admin_option(a, OPTIONS[i]);
		int64_t n;

		if (text == NULL)
			continue;
		if (!str_to_int(text, f->min, f->max, &n))
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s %s: must be a number from %lld to %lld",
			    OPTIONS[i], text, (long long)f->min,
			    (long long)f->max);
		json_object_set_new(limits, f->name, json_integer(n));
	}
	return 0;
}

/* The command; JSON's null if it is to be removed, NULL if none was given. */
static int
read_command(struct admin *a, json_t **command, struct err *e)
{
	const char *text = admin_option(a, "--command");

	if (text == NULL)
		return 0;
	if (strlen(text) > EXECUTION_COMMAND_MAX || !json_is_text(text))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--command: must be a text of up to %d bytes",
		    EXECUTION_COMMAND_MAX);
	*command = text[0] != '\0' ? json_string(text) : json_null();
	return 0;
}

int
cmd_profile_set(struct admin *a, struct err *e)
{
	const char *network = admin_option(a, "--network"), *type, *org;
	auto_json json_t *limits = json_object(), *command = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *spec = NULL;
	json_t *policy = NULL;

	if (read_type(a, &type, &org, e) < 0 || read_limits(a, limits, e) < 0 ||
	    read_command(a, &command, e) < 0 ||
	    (network != NULL &&
		network_spec_read_or_default("--network", network, &policy, e) <
		    0))
		return -1;
	if (policy == NULL && command == NULL && json_object_size(limits) == 0)
		return admin_usage(a, e);
	spec = control_spec_text(json_pack("{s:b, s:O, s:o*, s:O*}", "merge", 1,
	    "limits", limits, "network", policy, "command", command));
	if (STORE_RUN(a->store, STMT_PROFILE_PUT, &r, e, org, type, spec) < 0)
		return e->code == CODE_UNKNOWN_PRESET ? err_wrap(e, "--network")
						      : -1;
	if (rows_null(r, 0, "made"))
		return admin_unknown_org(org, e);
	printf(
	    "the profile %s is %s; a session has new memory and processes when it is next started, disk and network at once\n",
	    type, rows_bool(r, 0, "made") ? "added" : "changed");
	return 0;
}

int
cmd_profile_delete(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	const char *type, *org;

	if (read_type(a, &type, &org, e) < 0 ||
	    STORE_RUN(a->store, STMT_PROFILE_DELETE, &r, e, org, type, "{}") <
		0)
		return -1;
	if (!rows_bool(r, 0, "deleted"))
		return err_set(e, ERR_NOT_FOUND, CODE_PROFILE_NOT_FOUND,
		    "there is no such profile; see profile list");
	printf("the profile %s is deleted%s\n", type,
	    org[0] != '\0'
		? "; the service's counts again, if there is one"
		: "; sessions of this type have the limits of their class");
	return 0;
}
