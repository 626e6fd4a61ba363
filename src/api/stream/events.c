/* events.c: passes an event stream between nginx and a wrapper (FastCGI). */
#include "api/stream/events.h"

#include <string.h>

enum { PARAMS_MAX = 256 * 1024 };

/* ---- the answer */

static void
send_stdout(struct streams *all, struct stream *s, const char *data, size_t len)
{
	records_add(&s->nginx.out, RECORDS_STDOUT, s->id, data, len);
	stream_spoke(all, s);
}

static void
end_answer(struct streams *all, struct stream *s)
{
	records_end(&s->nginx.out, s->id);
	stream_over(all, s);
}

bool
stream_events_from_wrapper(struct streams *all, struct stream *s,
    const char *data, size_t len)
{
	struct records_piece p;
	int rc;

	while ((rc = records_next(&s->reply, &data, &len, &p)) > 0) {
		if (p.type == RECORDS_STDOUT && p.len > 0) {
			answer_see(&s->answer, p.data, p.len);
			send_stdout(all, s, p.data, p.len);
		} else if (p.type == RECORDS_END && p.last) {
			end_answer(all, s);
			return true;
		}
	}
	return rc == 0;
}

void
stream_events_beat(struct streams *all, struct stream *s)
{
	static const char COMMENT[] = ": ka\n\n";

	send_stdout(all, s, COMMENT, sizeof(COMMENT) - 1);
}

void
stream_events_leave(struct streams *all, struct stream *s, enum err_code code,
    const char *message)
{
	auto_buf struct buf words = { 0 };

	answer_last_words(&s->answer, code, message, &words);
	send_stdout(all, s, words.data, words.len);
	end_answer(all, s);
}

/* ---- the request */

/* Removes a parameter that is for the pool: the sandbox must not see it. */
static void
drop_param(struct stream *s, const struct records_param *p)
{
	s->params.len -= p->size;
	memmove(s->params.data + p->at, s->params.data + p->at + p->size,
	    s->params.len - p->at);
}

static void
take_target(struct streams *all, struct stream *s)
{
	struct records_param p;

	if (!records_param(&s->params, "SL_TARGET", &p))
		return;
	if (!stream_target(all->run_dir, p.value, p.len, s->target))
		s->target[0] = '\0';
	drop_param(s, &p);
}

static void
take_key(struct stream *s)
{
	struct records_param p;

	if (!records_param(&s->params, "SL_KEY", &p))
		return;
	if (p.len < sizeof(s->key)) {
		memcpy(s->key, p.value, p.len);
		s->key[p.len] = '\0';
	}
	drop_param(s, &p);
}

static bool
take_org(struct streams *all, struct stream *s)
{
	struct records_param p;
	bool may;

	if (!records_param(&s->params, "SL_TENANT", &p))
		return true; /* nginx still has an older configuration */
	may = stream_count_org(all, s, p.value, p.len);
	drop_param(s, &p);
	return may;
}

static void
take_request_id(struct stream *s)
{
	struct records_param p;

	if (records_param(&s->params, "SL_REQUEST_ID", &p) &&
	    p.len < sizeof(s->request_id)) {
		memcpy(s->request_id, p.value, p.len);
		s->request_id[p.len] = '\0';
	}
}

static void
refuse_busy(struct streams *all, struct stream *s)
{
	auto_buf struct buf text = { 0 };

	answer_busy("The service has too many streams open; try again.", &text);
	send_stdout(all, s, text.data, text.len);
	end_answer(all, s);
}

void
stream_events_unsent(struct streams *all, struct stream *s)
{
	static const char UNSENT[] = "X-Sandlease-Unsent: 1\r\n";

	send_stdout(all, s, UNSENT, sizeof(UNSENT) - 1);
	stream_over(all, s);
}

/* All parameters have arrived: connects to the wrapper, or refuses. */
static void
open_wrapper(struct streams *all, struct stream *s)
{
	if (s->busy || !take_org(all, s)) {
		refuse_busy(all, s);
		return;
	}
	take_request_id(s);
	take_key(s);
	take_target(all, s);
	if (s->target[0] != '\0')
		s->wrapper.fd = stream_connect(s->target);
	if (s->wrapper.fd < 0) {
		stream_events_unsent(all, s);
		return;
	}
	records_begin(&s->wrapper.out, s->id);
	if (s->params.len > 0)
		records_add(&s->wrapper.out, RECORDS_PARAMS, s->id,
		    s->params.data, s->params.len);
	records_add(&s->wrapper.out, RECORDS_PARAMS, s->id, "", 0);
	buf_free(&s->params);
	s->state = STREAM_OPEN;
}

/* False: nginx with our configuration never sends such a record. */
static bool
take_piece(struct streams *all, struct stream *s, const struct records_piece *p)
{
	switch (p->type) {
	case RECORDS_BEGIN:
		s->id = p->id;
		return true;
	case RECORDS_PARAMS:
		if (s->state != STREAM_HEAD)
			return false;
		buf_add(&s->params, p->data, p->len);
		if (p->len == 0)
			open_wrapper(all, s);
		return s->params.len <= PARAMS_MAX;
	case RECORDS_STDIN:
		if (s->state == STREAM_OPEN && !s->deaf)
			records_add(&s->wrapper.out, RECORDS_STDIN, s->id,
			    p->data, p->len);
		return s->state != STREAM_HEAD;
	default:
		return false;
	}
}

bool
stream_events_from_nginx(struct streams *all, struct stream *s,
    const char *data, size_t len)
{
	struct records_piece p;
	int rc;

	while ((rc = records_next(&s->request, &data, &len, &p)) > 0)
		if (!take_piece(all, s, &p))
			return false;
	return rc == 0;
}
