/* cmd_preset.c: lists, changes and deletes presets of network policies. */
#include <stdio.h>
#include <string.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "admin/network_spec.h"
#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

static const struct column COLUMNS[] = {
	{ "PRESET", "preset" },
	{ "SESSIONS", "sessions" },
	{ "HOSTS", "hosts" },
};

int
cmd_preset_list(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_PRESETS,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

/* Reads the operand NAME, with or without "@", into *name, without it. */
static int
read_name(struct admin *a, const char **name, struct err *e)
{
	auto_free char *entry = NULL;

	*name = admin_argument(a);
	if (*name == NULL)
		return admin_usage(a, e);
	if ((*name)[0] == '@')
		(*name)++;
	entry = xasprintf("@%s", *name);
	if (!network_is_preset(entry))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s: a preset has 1 to %d of a-z, 0-9 and -", *name,
		    NETWORK_PRESET_MAX - 1);
	return 0;
}

static int
check_hosts(const json_t *hosts, struct err *e)
{
	struct network_rule rule;
	const char *why;
	size_t i;
	json_t *v;

	if (json_array_size(hosts) > NETWORK_ALLOW_MAX)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a preset may have at most %d hosts", NETWORK_ALLOW_MAX);
	json_array_foreach(hosts, i, v)
	{
		if (network_rule_parse(json_string_value(v), &rule, &why) < 0)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "\"%.80s\" %s", json_string_value(v), why);
	}
	return 0;
}

int
cmd_preset_set(struct admin *a, struct err *e)
{
	auto_json json_t *hosts = NULL;
	auto_free char *text = NULL;
	const char *name, *list;

	if (read_name(a, &name, e) < 0)
		return -1;
	list = admin_argument(a);
	if (list == NULL)
		return admin_usage(a, e);
	hosts = network_spec_split(list);
	if (admin_no_more(a, e) < 0 || check_hosts(hosts, e) < 0)
		return -1;
	text = json_text(hosts);
	if (STORE_RUN(a->store, STMT_PRESET_SET, NULL, e, name, text) < 0)
		return -1;
	printf("@%s is %s\n", name, list);
	return 0;
}

int
cmd_preset_delete(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	const char *name;

	if (read_name(a, &name, e) < 0 || admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_PRESET_DELETE, &r, e, name) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN_PRESET,
		    "there is no preset @%s; see preset list", name);
	printf("@%s is deleted; policies that name it allow nothing by it\n",
	    name);
	return 0;
}
