/* statistics.c: shows what sessions and sandboxes use, now and before. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/app.h"
#include "api/v1/date.h"
#include "api/v1/handlers.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "control/statistics.h"

enum { PAGE_DEFAULT = 100, PAGE_MAX = 1000, NUMBER_MAX = 24 };

/* A session, or, if its id is not in the path, a sandbox. */
struct subject {
	const char *id, *tenant; /* borrowed */
	bool is_session;
};

static int
not_found(const struct subject *s, struct err *e)
{
	if (s->is_session)
		return err_set(e, ERR_NOT_FOUND, CODE_SESSION_NOT_FOUND,
		    "there is no such session");
	return err_set(e, ERR_NOT_FOUND, CODE_SANDBOX_NOT_FOUND,
	    "there is no such sandbox");
}

static int
read_subject(struct call *c, struct subject *s, struct err *e)
{
	const char *session = call_var(c, "id");
	struct err ignored;

	s->tenant = app_of(c)->who.tenant;
	s->is_session = session[0] != '\0';
	s->id = s->is_session ? session : call_var(c, "sandbox");
	if (s->is_session ? !id_is_session(s->id)
			  : sandbox_id_check(s->id, &ignored) < 0 ||
		    !utf8_valid(s->id, strlen(s->id)))
		return not_found(s, e);
	return 0;
}

int
v1_statistics(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	auto_json json_t *reply = NULL;
	struct subject s;

	if (ctl == NULL || read_subject(c, &s, e) < 0 ||
	    (s.is_session ? statistics_session : statistics_sandbox)(ctl, s.id,
		s.tenant, &reply, e) < 0)
		return -1;
	call_reply(c, 200, reply);
	return 0;
}

/* ---- history */

struct history_query {
	char since[DATE_TEXT_MAX], until[DATE_TEXT_MAX];
	char after[NUMBER_MAX]; /* milliseconds since 1970 */
	char ask[NUMBER_MAX];   /* rows to ask for: limit + 1 */
	int64_t limit;
};

/* Reads a date of the query; without one *out keeps its value. */
static int
query_date(struct call *c, const char *name, char out[DATE_TEXT_MAX],
    struct err *e)
{
	char text[DATE_TEXT_MAX];
	time_t ignored;
	bool given;

	if (call_query(c, name, text, sizeof(text), &given, e) < 0)
		return -1;
	if (given && date_check(text, name, &ignored, e) < 0)
		return -1;
	if (given)
		str_copy(out, DATE_TEXT_MAX, text);
	return 0;
}

static int
read_query(struct call *c, struct history_query *q, struct err *e)
{
	int64_t after;
	bool given;

	*q = (struct history_query){ .since = "-infinity",
		.until = "infinity",
		.after = "0",
		.limit = PAGE_DEFAULT };
	if (query_date(c, "since", q->since, e) < 0 ||
	    query_date(c, "until", q->until, e) < 0 ||
	    call_query(c, "cursor", q->after, sizeof(q->after), &given, e) < 0)
		return -1;
	if (given && !str_to_int(q->after, 0, INT64_C(1) << 48, &after))
		return err_field(e, "cursor",
		    "must be the nextCursor of an earlier answer");
	if (!given)
		str_copy(q->after, sizeof(q->after), "0");
	if (call_query_int(c, "limit", 1, PAGE_MAX, &q->limit, e) < 0)
		return -1;
	snprintf(q->ask, sizeof(q->ask), "%" PRId64, q->limit + 1);
	return 0;
}

/* Appends the samples; *last is the time of the last one. */
static int
list_samples(const struct rows *r, int64_t limit, json_t *list, int64_t *last,
    struct err *e)
{
	*last = 0;
	for (size_t i = 0; i < rows_count(r) && i < (size_t)limit; i++) {
		json_t *one = NULL;

		if (rows_null(r, i, "at_ms"))
			continue;
		if (rows_json(r, i, "json", &one, e) < 0)
			return -1;
		json_array_append_new(list, one);
		*last = rows_int(r, i, "at_ms");
	}
	return 0;
}

int
v1_statistics_history(struct call *c, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *list = json_array(), *reply = NULL;
	struct history_query q;
	struct subject s;
	int64_t last;
	bool more;

	if (read_subject(c, &s, e) < 0 || read_query(c, &q, e) < 0 ||
	    STORE_RUN(app_of(c)->store,
		s.is_session ? STMT_SAMPLES_OF_SESSION
			     : STMT_SAMPLES_OF_SANDBOX,
		&r, e, s.id, s.tenant, q.since, q.until, q.after, q.ask) < 0)
		return -1;
	if (rows_count(r) == 0)
		return not_found(&s, e);
	if (list_samples(r, q.limit, list, &last, e) < 0)
		return -1;
	more = rows_count(r) > (size_t)q.limit;
	reply = json_pack("{s:O, s:o}", "samples", list, "nextCursor",
	    more ? json_sprintf("%" PRId64, last) : json_null());
	call_reply(c, 200, reply);
	return 0;
}
