/* classes.c: lists classes, network presets and profiles for a create. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/reply_rows.h"

int
v1_classes(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_CLASSES_KNOWN, &r, e) < 0)
		return -1;
	return reply_rows(c, "classes", r, e);
}

int
v1_presets(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_PRESETS_KNOWN, &r, e) < 0)
		return -1;
	return reply_rows(c, "presets", r, e);
}

int
v1_profiles(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_PROFILES_KNOWN, &r, e,
		app_of(c)->who.tenant) < 0)
		return -1;
	return reply_rows(c, "profiles", r, e);
}
