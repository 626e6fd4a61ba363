/* v1_session_list.c: finding sessions, a page at a time. */
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/handlers.h"
#include "api/keys_body.h"
#include "api/session_json.h"
#include "common/mem.h"
#include "domain/session.h"

enum { PAGE_DEFAULT = 50, PAGE_MAX = 200, LABEL_MAX = 320, CURSOR_MAX = 64 };

/* "key:value"; the first colon divides. */
static int
split_label(char *label, const char **key, const char **value, struct err *e)
{
	char *colon = strchr(label, ':');

	*key = *value = "";
	if (label[0] == '\0')
		return 0;
	if (colon == NULL || colon == label)
		return err_field(e, "label", "must be key:value");
	*colon = '\0';
	*key = label;
	*value = colon + 1;
	return 0;
}

/* "<seconds>.<micros>_<id>", as we gave it out. */
static int
split_cursor(char *cursor, const char **at, const char **id, struct err *e)
{
	char *sep = strchr(cursor, '_');

	*at = *id = "";
	if (cursor[0] == '\0')
		return 0;
	if (sep == NULL || !id_is_session(sep + 1))
		return err_field(e, "cursor", "is not one of ours");
	*sep = '\0';
	if (!str_made_of(cursor, "0123456789.", 1, 24) ||
	    strchr(cursor, '.') != strrchr(cursor, '.'))
		return err_field(e, "cursor", "is not one of ours");
	*at = cursor;
	*id = sep + 1;
	return 0;
}

struct list_query {
	char state[32];
	char label[LABEL_MAX];
	char key[KEY_LEN_MAX + 1];
	char cursor[CURSOR_MAX];
	char limit[8];
	const char *label_key, *label_value, *at, *id;
	int64_t page;
};

static int
read_list_query(struct call *c, struct list_query *q, struct err *e)
{
	bool ignored, keyed;

	*q = (struct list_query){ .page = PAGE_DEFAULT };
	if (call_query(c, "state", q->state, sizeof(q->state), &ignored, e) <
		0 ||
	    call_query(c, "label", q->label, sizeof(q->label), &ignored, e) <
		0 ||
	    call_query(c, "correlationKey", q->key, sizeof(q->key), &keyed, e) <
		0 ||
	    call_query(c, "cursor", q->cursor, sizeof(q->cursor), &ignored, e) <
		0 ||
	    call_query(c, "limit", q->limit, sizeof(q->limit), &ignored, e) < 0)
		return -1;
	if (q->state[0] != '\0' &&
	    session_state_parse(q->state) == SESSION__MAX)
		return err_field(e, "state", "is not a state");
	if (keyed && !key_is_good(q->key))
		return err_field(e, "correlationKey", "cannot be a key");
	if (q->limit[0] != '\0' && !str_to_int(q->limit, 1, PAGE_MAX, &q->page))
		return err_field(e, "limit", "must be 1 to %d", PAGE_MAX);
	if (split_label(q->label, &q->label_key, &q->label_value, e) < 0)
		return -1;
	return split_cursor(q->cursor, &q->at, &q->id, e);
}

int
v1_session_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;
	json_t *cursor = json_null();
	struct list_query q;
	char page[16];
	size_t n;

	if (ctl == NULL || read_list_query(c, &q, e) < 0)
		return -1;
	snprintf(page, sizeof(page), "%d", (int)q.page + 1);
	if (STORE_RUN(ctl->store, STMT_SESSION_LIST, &r, e,
		app_of(c)->who.tenant, q.state, q.label_key, q.label_value,
		q.at, q.id, page, q.key) < 0)
		return -1;
	n = rows_count(r);
	for (size_t i = 0; i < n && i < (size_t)q.page; i++) {
		json_t *s = NULL;

		if (session_json(ctl, rows_text(r, i, "json"), &s, e) < 0)
			return -1;
		json_array_append_new(list, s);
	}
	if (n > (size_t)q.page)
		cursor = json_sprintf("%s_%s",
		    rows_text(r, (size_t)q.page - 1, "at"),
		    rows_text(r, (size_t)q.page - 1, "id"));
	reply = json_pack("{s:O, s:o}", "sessions", list, "nextCursor", cursor);
	call_reply(c, 200, reply);
	return 0;
}
