/* classes.c: lists the classes that a session may be created with. */
#include <string.h>

#include "api/app.h"
#include "api/v1/handlers.h"

int
v1_classes(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;

	if (STORE_RUN(app_of(c)->store, STMT_CLASSES_KNOWN, &r, e) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++) {
		const char *text = rows_text(r, i, "json");
		json_t *class = NULL;

		if (json_parse(text, strlen(text), &class, e) < 0)
			return -1;
		json_array_append_new(list, class);
	}
	reply = json_pack("{s:O}", "classes", list);
	call_reply(c, 200, reply);
	return 0;
}
