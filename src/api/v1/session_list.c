/* session_list.c: lists sessions by state, label or key, in pages. */
#include <string.h>

#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/keys_body.h"
#include "api/v1/page.h"
#include "api/v1/session_json.h"
#include "common/mem.h"
#include "domain/state.h"

enum { LABEL_MAX = 320 };

/* Splits "key:value" at the first colon. */
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

struct list_query {
	char state[32];
	char label[LABEL_MAX];
	char key[CORRELATION_KEY_MAX + 1];
	const char *label_key, *label_value;
	struct page page;
};

static int
read_list_query(struct call *c, struct list_query *q, struct err *e)
{
	bool ignored, keyed;

	*q = (struct list_query){ 0 };
	if (call_query_word(c, "state", SESSION_STATES, q->state,
		sizeof(q->state), e) < 0 ||
	    call_query(c, "label", q->label, sizeof(q->label), &ignored, e) <
		0 ||
	    call_query(c, "correlationKey", q->key, sizeof(q->key), &keyed, e) <
		0 ||
	    page_read(c, &q->page, e) < 0)
		return -1;
	if (keyed && !correlation_is_key(q->key))
		return err_field(e, "correlationKey",
		    "must be a printable string of 1 to 255 bytes");
	return split_label(q->label, &q->label_key, &q->label_value, e);
}

int
v1_session_list(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;
	struct list_query q;

	if (ctl == NULL || read_list_query(c, &q, e) < 0)
		return -1;
	if (STORE_RUN(ctl->store, STMT_SESSION_LIST, &r, e,
		app_of(c)->who.tenant, q.state, q.label_key, q.label_value,
		q.page.at, q.page.id, q.page.ask, q.key) < 0)
		return -1;
	if (session_json_list(c, ctl, r, page_count(&q.page, r), list, e) < 0)
		return -1;
	reply = json_pack("{s:O, s:o}", "sessions", list, "nextCursor",
	    page_next(&q.page, r));
	call_reply(c, 200, reply);
	return 0;
}
