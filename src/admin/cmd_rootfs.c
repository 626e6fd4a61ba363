/* cmd_rootfs.c: root file systems that classes can name. */
#include <stdio.h>

#include "admin/commands.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/rootfs_control.h"

int
cmd_rootfs_make(struct admin *a, struct err *e)
{
	const char *suite = admin_option(a, "--suite");
	const char *packages = admin_option(a, "--packages");
	const char *mirror = admin_option(a, "--mirror");
	struct rootfs_recipe r = { .name = admin_argument(a),
		.suite = suite != NULL ? suite : "bookworm",
		.packages = packages,
		.mirror = mirror };
	auto_free char *root = NULL;

	if (r.name == NULL)
		return admin_usage(a, e);
	if (packages == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "rootfs make needs --packages A,B,...");
	if (admin_no_more(a, e) < 0 || rootfs_make(a->conf, &r, &root, e) < 0)
		return -1;
	printf("%s\n", root);
	return 0;
}

static void
print_one(const json_t *v)
{
	const json_t *classes = json_object_get(v, "classes");
	auto_buf struct buf names = { 0 };

	for (size_t i = 0; i < json_array_size(classes); i++)
		buf_fmt(&names, "%s%s", i > 0 ? "," : "",
		    json_string_value(json_array_get(classes, i)));
	printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", json_str(v, "name"),
	    json_str(v, "suite"), json_str(v, "made"),
	    names.len > 0 ? names.data : "-", json_str(v, "root"),
	    json_str(v, "packages"), json_str(v, "mirror"));
}

static void
print_json(const json_t *v)
{
	auto_free char *text = json_text(v);

	puts(text);
}

int
cmd_rootfs_list(struct admin *a, struct err *e)
{
	auto_json json_t *all = NULL;
	json_t *v;
	size_t i;

	if (admin_no_more(a, e) < 0 ||
	    rootfs_control_list(a->conf, a->store, &all, e) < 0)
		return -1;
	if (!admin_flag(a, "--json"))
		puts("NAME\tSUITE\tMADE\tCLASSES\tROOTFS\tPACKAGES\tMIRROR");
	json_array_foreach(all, i, v)
	{
		if (admin_flag(a, "--json"))
			print_json(v);
		else
			print_one(v);
	}
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
