/* page.c: divides lists into pages, newest first. */
#include "api/v1/page.h"

#include <stdio.h>
#include <string.h>

#include "common/id.h"
#include "common/str.h"

enum { PAGE_DEFAULT = 50, PAGE_MAX = 200 };

/* Splits the cursor, "<seconds>.<micros>_<id>", as page_next() makes it. */
static int
split_cursor(struct page *p, struct err *e)
{
	char *sep = strchr(p->cursor, '_');

	p->at = p->id = "";
	if (p->cursor[0] == '\0')
		return 0;
	if (sep == NULL || !id_is_session(sep + 1))
		return err_field(e, "cursor",
		    "must be the nextCursor of an earlier answer");
	*sep = '\0';
	if (!str_made_of(p->cursor, "0123456789.", 1, 24) ||
	    strchr(p->cursor, '.') != strrchr(p->cursor, '.'))
		return err_field(e, "cursor",
		    "must be the nextCursor of an earlier answer");
	p->at = p->cursor;
	p->id = sep + 1;
	return 0;
}

int
page_read(const struct call *c, struct page *p, struct err *e)
{
	char limit[8] = "";
	bool ignored;

	*p = (struct page){ .size = PAGE_DEFAULT };
	if (call_query(c, "cursor", p->cursor, sizeof(p->cursor), &ignored, e) <
		0 ||
	    call_query(c, "limit", limit, sizeof(limit), &ignored, e) < 0)
		return -1;
	if (limit[0] != '\0' && !str_to_int(limit, 1, PAGE_MAX, &p->size))
		return err_field(e, "limit", "must be 1 to %d", PAGE_MAX);
	snprintf(p->ask, sizeof(p->ask), "%d", (int)p->size + 1);
	return split_cursor(p, e);
}

size_t
page_count(const struct page *p, const struct rows *r)
{
	size_t n = rows_count(r);

	return n < (size_t)p->size ? n : (size_t)p->size;
}

json_t *
page_next(const struct page *p, const struct rows *r)
{
	size_t last = (size_t)p->size - 1;

	if (rows_count(r) <= (size_t)p->size)
		return json_null();
	return json_sprintf("%s_%s", rows_text(r, last, "at"),
	    rows_text(r, last, "id"));
}
