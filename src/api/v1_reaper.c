/* v1_reaper.c: what passes of the reaper did, a page at a time. */
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/handlers.h"
#include "common/mem.h"

enum { PAGE_DEFAULT = 50, PAGE_MAX = 200, CURSOR_MAX = 24 };

struct runs_query {
	char cursor[CURSOR_MAX];
	char limit[8];
	int64_t page;
};

static int
read_query(struct call *c, struct runs_query *q, struct err *e)
{
	int64_t id;
	bool ignored;

	*q = (struct runs_query){ .page = PAGE_DEFAULT };
	if (call_query(c, "cursor", q->cursor, sizeof(q->cursor), &ignored, e) <
		0 ||
	    call_query(c, "limit", q->limit, sizeof(q->limit), &ignored, e) < 0)
		return -1;
	if (q->limit[0] != '\0' && !str_to_int(q->limit, 1, PAGE_MAX, &q->page))
		return err_field(e, "limit", "must be 1 to %d", PAGE_MAX);
	if (q->cursor[0] != '\0' && !str_to_int(q->cursor, 1, INT64_MAX, &id))
		return err_field(e, "cursor", "is not one of ours");
	return 0;
}

int
v1_reaper_runs(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;
	json_t *cursor = json_null();
	struct runs_query q;
	char page[16];
	size_t n;

	if (ctl == NULL || read_query(c, &q, e) < 0)
		return -1;
	snprintf(page, sizeof(page), "%d", (int)q.page + 1);
	if (STORE_RUN(ctl->store, STMT_REAPER_RUNS, &r, e, q.cursor, page) < 0)
		return -1;
	n = rows_count(r);
	for (size_t i = 0; i < n && i < (size_t)q.page; i++) {
		const char *text = rows_text(r, i, "json");
		json_t *run = NULL;

		if (json_parse(text, strlen(text), &run, e) < 0)
			return -1;
		json_array_append_new(list, run);
	}
	if (n > (size_t)q.page)
		cursor = json_string(rows_text(r, (size_t)q.page - 1, "id"));
	reply = json_pack("{s:O, s:o}", "runs", list, "nextCursor", cursor);
	call_reply(c, 200, reply);
	return 0;
}
