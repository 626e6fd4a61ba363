/* cmd_host.c: lists hosts, and registers the storage of this host. */
#include <stdio.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"
#include "control/storage_adopt.h"

static const struct column COLUMNS[] = {
	{ "HOST", "host" },
	{ "RUNNING", "running" },
	{ "SANDBOXES", "sandboxes" },
	{ "SNAPSHOTS", "snapshots" },
	{ "DISK-RESERVED-MB", "diskReservedMb" },
	{ "LAST-PASS", "lastPassSeconds", COLUMN_SPAN },
	{ "STORAGE", "storageId" },
};

int
cmd_host_list(struct admin *a, struct err *e)
{
	const struct listing l = { .stmt = STMT_ADMIN_HOSTS,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

int
cmd_host_adopt_storage(struct admin *a, struct err *e)
{
	const char *from = admin_option(a, "--from");
	struct storage_adopted done;

	if (admin_no_more(a, e) < 0 ||
	    storage_adopt(a->conf, a->store, from != NULL ? from : "", &done,
		e) < 0)
		return -1;
	printf("storage %s is that of host %s\n", done.id, a->conf->host_name);
	if (from != NULL)
		printf(
		    "%lld sandboxes and %lld snapshots of host %s are its own now\n",
		    (long long)done.sandboxes, (long long)done.snapshots, from);
	return 0;
}
