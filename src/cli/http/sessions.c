/* sessions.c: finds sessions by id or name, lists them, waits for a state. */
#include "cli/http/sessions.h"

#include <string.h>
#include <time.h>

#include "cli/show.h"
#include "common/clock.h"
#include "common/mem.h"

enum { PAGE = 200, WAIT_S = 25, SHOWN = 4 };

int
session_call(struct client *c, const char *method, const char *id,
    const char *tail, const json_t *body, json_t **out, struct err *e)
{
	auto_free char *path = xasprintf("/v1/sessions/%s%s", id, tail);

	return client_call(c, method, path, body, out, e);
}

/* ---- all sessions */

int
session_each(struct client *c, const char *query, session_fn *each, void *ctx,
    struct err *e)
{
	auto_free char *cursor = xstrdup("");

	do {
		auto_free char *path = xasprintf("/v1/sessions?%slimit=%d%s%s",
		    query, PAGE, cursor[0] != '\0' ? "&cursor=" : "", cursor);
		auto_json json_t *page = NULL;
		json_t *s;
		size_t i;

		if (client_call(c, "GET", path, NULL, &page, e) < 0)
			return -1;
		json_array_foreach(json_object_get(page, "sessions"), i, s)
		{
			if (each(ctx, s, e) < 0)
				return -1;
		}
		mem_free_ptr(&cursor);
		cursor = xstrdup(json_str(page, "nextCursor"));
	} while (cursor[0] != '\0');
	return 0;
}

int
session_query(const char *label, struct buf *query, struct err *e)
{
	const char *equals = label != NULL ? strchr(label, '=') : NULL;
	auto_free char *both = NULL;

	if (label == NULL)
		return 0;
	if (equals == NULL || equals == label)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--label takes KEY=VALUE, not \"%.60s\"", label);
	both = xstrdup(label);
	both[equals - label] = ':';
	buf_str(query, "label=");
	client_escape(query, both, false);
	buf_str(query, "&");
	return 0;
}

/* ---- one session */

struct search {
	const char *word;
	char named[ID_MAX];         /* the session whose name is `word` */
	char begins[SHOWN][ID_MAX]; /* the first ids that begin with `word` */
	int count;                  /* of all ids that begin with `word` */
};

static int
compare_session(void *ctx, json_t *session, struct err *e)
{
	struct search *s = ctx;
	const char *id = json_str(session, "id");

	(void)e;
	/* a new session may have taken the name of one that is deleting */
	if (str_equal(json_str(session, "name"), s->word) &&
	    (s->named[0] == '\0' ||
		!str_equal(json_str(session, "state"), "deleting")))
		str_copy(s->named, sizeof(s->named), id);
	if (str_starts(id, s->word) && s->count++ < SHOWN)
		str_copy(s->begins[s->count - 1], ID_MAX, id);
	return 0;
}

static int
refuse_ambiguous(const struct search *s, struct err *e)
{
	auto_buf struct buf all = { 0 };

	for (int i = 0; i < s->count && i < SHOWN; i++)
		buf_fmt(&all, " %s", s->begins[i]);
	return err_set(e, ERR_INVALID, CODE_AMBIGUOUS,
	    "\"%.40s\" begins the ids of %d sessions:%s%s; type more of the id",
	    s->word, s->count, all.data, s->count > SHOWN ? " ..." : "");
}

int
session_find(struct client *c, const char *word, char id[ID_MAX], struct err *e)
{
	struct search s = { .word = word };

	if (id_is_session(word)) {
		str_copy(id, ID_MAX, word);
		return 0;
	}
	if (word[0] != '\0' && session_each(c, "", compare_session, &s, e) < 0)
		return -1;
	if (s.named[0] == '\0' && s.count > 1)
		return refuse_ambiguous(&s, e);
	if (s.named[0] == '\0' && s.count == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN,
		    "there is no session \"%.100s\"; sandlease ls lists your sessions",
		    word);
	str_copy(id, ID_MAX, s.named[0] != '\0' ? s.named : s.begins[0]);
	return 0;
}

/* ---- waiting for a session */

/*
 * Waits for events after *after, and sets it to the last one.  Prints the
 * output of the session's setup to `told`.
 */
static int
wait_for_events(struct client *c, const char *id, int64_t wait_s, FILE *told,
    int64_t *after, struct err *e)
{
	auto_free char *tail = xasprintf("/events?after=%lld&wait=%lld",
	    (long long)*after, (long long)wait_s);
	const struct timespec pause = { .tv_nsec = 200000000 };
	auto_json json_t *answer = NULL;
	int64_t began = clock_ms();
	json_t *event;
	size_t i;

	if (session_call(c, "GET", id, tail, NULL, &answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "events"), i, event)
	{
		const json_t *detail = json_object_get(event, "detail");

		*after = json_integer_value(json_object_get(event, "id"));
		if (told != NULL &&
		    str_equal(json_str(event, "kind"), "setup") &&
		    str_equal(json_str(event, "what"), "output"))
			show_text(json_str(detail, "text"), told);
	}
	/* the service answers at once if too many clients wait: do not spin */
	if (i == 0 && wait_s > 0 && clock_ms() - began < 1000)
		nanosleep(&pause, NULL);
	return 0;
}

int
session_settle(struct client *c, const char *id, const char *state,
    int64_t seconds, FILE *told, json_t **out, struct err *e)
{
	int64_t end = clock_ms() + seconds * 1000, after = 0;

	for (;;) {
		auto_json json_t *s = NULL;
		int64_t wait_s = WAIT_S;
		bool settled;

		if (seconds >= 0 && clock_left_ms(end) < WAIT_S * 1000)
			wait_s = (clock_left_ms(end) + 999) / 1000;
		if (session_call(c, "GET", id, "", NULL, &s, e) < 0)
			return -1;
		settled =
		    wait_s == 0 || !str_equal(json_str(s, "state"), state);
		if ((!settled || told != NULL) &&
		    wait_for_events(c, id, settled ? 0 : wait_s, told, &after,
			e) < 0)
			return -1;
		if (settled) {
			*out = TAKE(s);
			return 0;
		}
	}
}
