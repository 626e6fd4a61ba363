/* cmd_rootfs.c: makes, lists and removes root file systems for classes. */
#include <stdio.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/rootfs_control.h"

int
cmd_rootfs_make(struct admin *a, struct err *e)
{
	const char *suite = admin_option(a, "--suite");
	const char *packages = admin_option(a, "--packages");
	const char *mirror = admin_option(a, "--mirror");
	const struct rootfs_options w = { .name = admin_argument(a),
		.suite = suite != NULL ? suite : "bookworm",
		.packages = packages,
		.mirror = mirror };
	auto_free char *root = NULL;

	if (w.name == NULL)
		return admin_usage(a, e);
	if (packages == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "rootfs make needs --packages A,B,...");
	if (admin_no_more(a, e) < 0 ||
	    rootfs_control_make(a->conf, &w, &root, e) < 0)
		return -1;
	printf("%s\n", root);
	return 0;
}

int
cmd_rootfs_list(struct admin *a, struct err *e)
{
	static const struct column COLUMNS[] = {
		{ "NAME", "name" },
		{ "SUITE", "suite" },
		{ "MADE", "made" },
		{ "CLASSES", "classes", COLUMN_JSON },
		{ "ROOTFS", "root" },
		{ "PACKAGES", "packages" },
		{ "MIRROR", "mirror" },
	};
	const struct listing l = { .columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };
	auto_json json_t *all = NULL;

	if (admin_no_more(a, e) < 0 ||
	    rootfs_control_list(a->conf, a->store, &all, e) < 0)
		return -1;
	list_print_array(a, &l, all);
	return 0;
}

int
cmd_rootfs_rm(struct admin *a, struct err *e)
{
	const char *name;

	if (admin_only_argument(a, &name, e) < 0 ||
	    rootfs_control_remove(a->conf, a->store, name, e) < 0)
		return -1;
	printf("%s is removed\n", name);
	return 0;
}
