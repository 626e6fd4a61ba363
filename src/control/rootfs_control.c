/* rootfs_control.c: makes, lists and removes root file systems for classes. */
#include "control/rootfs_control.h"

#include "common/mem.h"
#include "common/str.h"
#include "provider/store/rootfs.h"

int
rootfs_control_make(const struct conf *conf, const struct rootfs_options *w,
    char **root, struct err *e)
{
	const struct rootfs_recipe r = { .name = w->name,
		.suite = w->suite,
		.packages = w->packages,
		.mirror = w->mirror };

	return rootfs_make(conf, &r, root, e);
}

int
rootfs_control_check_writable(const struct conf *conf, const char *root,
    struct err *e)
{
	auto_free char *storage = xasprintf("%s/storage", conf->state_dir);

	return rootfs_check_writable(root, storage, e);
}

static int
classes_of(struct store *st, const char *root, json_t **out, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(st, STMT_ROOTFS_CLASSES, &r, e, root) < 0)
		return -1;
	*out = json_array();
	for (size_t i = 0; i < rows_count(r); i++)
		json_array_append_new(*out,
		    json_string(rows_text(r, i, "name")));
	return 0;
}

int
rootfs_control_list(const struct conf *conf, struct store *st, json_t **out,
    struct err *e)
{
	size_t i;
	json_t *v;

	if (rootfs_list(conf, out, e) < 0)
		return -1;
	json_array_foreach(*out, i, v)
	{
		json_t *classes = NULL;

		if (classes_of(st, json_str(v, "root"), &classes, e) < 0)
			return -1;
		json_object_set_new(v, "classes", classes);
	}
	return 0;
}

int
rootfs_control_remove(const struct conf *conf, struct store *st,
    const char *name, struct err *e)
{
	auto_free char *root = NULL;
	auto_json json_t *classes = NULL;

	if (rootfs_find(conf, name, &root, e) < 0 ||
	    classes_of(st, root, &classes, e) < 0)
		return -1;
	if (json_array_size(classes) > 0)
		return err_set(e, ERR_CONFLICT, CODE_RESOURCE_BUSY,
		    "class %s names %s",
		    json_string_value(json_array_get(classes, 0)), root);
	return rootfs_remove(conf, name, e);
}
