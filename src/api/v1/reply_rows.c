/* reply_rows.c: answers with rows of the database. */
#include "api/v1/reply_rows.h"

int
reply_row(struct call *c, int status, const struct rows *r, struct err *e)
{
	auto_json json_t *reply = NULL;

	if (rows_json(r, 0, "json", &reply, e) < 0)
		return -1;
	call_reply(c, status, reply);
	return 0;
}

/* Answers with the first `count` rows, and takes over `next` unless NULL. */
static int
reply_list(struct call *c, const char *name, const struct rows *r, size_t count,
    json_t *next, struct err *e)
{
	auto_json json_t *list = json_array();
	auto_json json_t *reply =
	    json_pack("{s:O, s:o*}", name, list, "nextCursor", next);

	for (size_t i = 0; i < count; i++) {
		json_t *one = NULL;

		if (rows_json(r, i, "json", &one, e) < 0)
			return -1;
		json_array_append_new(list, one);
	}
	call_reply(c, 200, reply);
	return 0;
}

int
reply_rows(struct call *c, const char *name, const struct rows *r,
    struct err *e)
{
	return reply_list(c, name, r, rows_count(r), NULL, e);
}

int
reply_page(struct call *c, const char *name, const struct page *p,
    const struct rows *r, struct err *e)
{
	return reply_list(c, name, r, page_count(p, r), page_next(p, r), e);
}
