/* classes.c: lists classes, network presets and profiles for a create. */
#include <string.h>

#include "api/app.h"
#include "api/v1/handlers.h"

/* Answers {name: [...]} with the column `json` of each row. */
static int
reply_list(struct call *c, const struct rows *r, const char *name,
    struct err *e)
{
	auto_json json_t *list = json_array(), *reply = NULL;

	for (size_t i = 0; i < rows_count(r); i++) {
		const char *text = rows_text(r, i, "json");
		json_t *one = NULL;

		if (json_parse(text, strlen(text), &one, e) < 0)
			return -1;
		json_array_append_new(list, one);
	}
	reply = json_pack("{s:O}", name, list);
	call_reply(c, 200, reply);
	return 0;
}

int
v1_classes(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_CLASSES_KNOWN, &r, e) < 0)
		return -1;
	return reply_list(c, r, "classes", e);
}

int
v1_presets(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_PRESETS_KNOWN, &r, e) < 0)
		return -1;
	return reply_list(c, r, "presets", e);
}

int
v1_profiles(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_PROFILES_KNOWN, &r, e,
		app_of(c)->who.tenant) < 0)
		return -1;
	return reply_list(c, r, "profiles", e);
}
