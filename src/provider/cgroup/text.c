/* text.c: writes and reads box/<name>/cgroup, the groups of a sandbox. */
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"

char *
cgroup_text(const struct cgroup_tree *t)
{
	auto_json json_t *v =
	    json_pack("{s:s, s:[]}", "kind", t->ops->name, "at");

	for (size_t i = 0; i < t->count; i++)
		json_array_append_new(json_object_get(v, "at"),
		    json_pack("{s:i, s:s}", "controllers",
			(int)t->at[i].controllers, "dir", t->at[i].dir));
	return json_text(v);
}

static const struct cgroup_ops *
find_ops(const char *name)
{
	static const struct cgroup_ops *const KINDS[] = { &CGROUP_NONE,
		&CGROUP_V1, &CGROUP_V2 };

	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
		if (str_equal(KINDS[i]->name, name))
			return KINDS[i];
	return NULL;
}

int
cgroup_parse(const char *text, size_t len, struct cgroup_tree *out,
    struct err *e)
{
	auto_json json_t *v = NULL;
	const json_t *at;

	*out = (struct cgroup_tree){ 0 };
	if (json_parse(text, len, &v, e) < 0)
		return -1;
	out->ops = find_ops(json_str(v, "kind"));
	at = json_object_get(v, "at");
	if (out->ops == NULL || json_array_size(at) > CGROUP__MAX)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "cannot be understood");
	for (size_t i = 0; i < json_array_size(at); i++) {
		const json_t *h = json_array_get(at, i);

		out->at[i].controllers = (unsigned)json_integer_value(
		    json_object_get(h, "controllers"));
		if (!str_copy(out->at[i].dir, sizeof(out->at[i].dir),
			json_str(h, "dir")))
			return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
			    "cannot be understood");
		out->count++;
	}
	return 0;
}
