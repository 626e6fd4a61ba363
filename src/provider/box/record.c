/* record.c: notes a sandbox's incarnations and refuses stale ones. */
#include "provider/box/record.h"

#include <string.h>

#include "common/json.h"
#include "common/mem.h"
#include "common/str.h"

static const char *const STATE_NAMES[] = { "none", "starting", "live", "ended",
	"destroyed", NULL };
_Static_assert(ARRAY_LEN(STATE_NAMES) == RECORD__MAX + 1,
    "every state has a name");

static int
set_stale(struct err *e, const char *incarnation, const char *why)
{
	return err_set(e, ERR_CONFLICT, CODE_STALE_INCARNATION,
	    "incarnation %.16s %s", incarnation, why);
}

static bool
is_past(const struct record *r, const char *incarnation)
{
	for (size_t i = 0; i < RECORD_PAST_MAX && r->past[i][0] != '\0'; i++)
		if (str_equal(r->past[i], incarnation))
			return true;
	return false;
}

static bool
is_current(const struct record *r, const char *incarnation)
{
	return r->state != RECORD_NONE &&
	    str_equal(r->incarnation, incarnation);
}

int
record_check_ensure(const struct record *r, const struct sandbox_spec *s,
    bool runs, struct err *e)
{
	if (r->state == RECORD_NONE)
		return 0;
	if (is_current(r, s->incarnation)) {
		/*
		 * RECORD_STARTING that does not run is refused, too: its init
		 * may have answered, and its seals are lost.
		 */
		if (runs &&
		    (r->state == RECORD_STARTING || r->state == RECORD_LIVE))
			return 0;
		return set_stale(e, s->incarnation,
		    "has ended; a new start is a new incarnation");
	}
	if (is_past(r, s->incarnation) ||
	    (s->epoch > 0 && s->epoch <= r->epoch))
		return set_stale(e, s->incarnation,
		    "is older than the one on record");
	return 0;
}

int
record_check_end(const struct record *r, const char *incarnation, bool runs,
    bool destroy, struct err *e)
{
	if (r->state == RECORD_NONE || is_current(r, incarnation))
		return 0;
	if (runs)
		return set_stale(e, incarnation, "is not the one that runs");
	if (destroy && is_past(r, incarnation) && r->state != RECORD_DESTROYED)
		return set_stale(e, incarnation,
		    "is older than the one on record");
	return 0;
}

/* Moves the incarnation on record to the front of r->past. */
static void
move_to_past(struct record *r)
{
	if (r->state == RECORD_NONE || r->incarnation[0] == '\0')
		return;
	memmove(r->past[1], r->past[0], sizeof(r->past) - sizeof(r->past[0]));
	str_copy(r->past[0], sizeof(r->past[0]), r->incarnation);
}

void
record_start(struct record *r, const struct sandbox_spec *s)
{
	if (!is_current(r, s->incarnation))
		move_to_past(r);
	str_copy(r->incarnation, sizeof(r->incarnation), s->incarnation);
	r->state = RECORD_STARTING;
	if (s->epoch > r->epoch)
		r->epoch = s->epoch;
}

void
record_end(struct record *r, const char *incarnation, bool destroy)
{
	/* note an incarnation that was never started here: it must not start */
	if (!is_current(r, incarnation) && !is_past(r, incarnation) &&
	    incarnation[0] != '\0') {
		move_to_past(r);
		str_copy(r->incarnation, sizeof(r->incarnation), incarnation);
	}
	if (destroy)
		r->state = RECORD_DESTROYED;
	else if (r->state != RECORD_DESTROYED)
		r->state = RECORD_ENDED;
}

char *
record_text(const struct record *r)
{
	auto_json json_t *past = json_array(), *v = NULL;

	for (size_t i = 0; i < RECORD_PAST_MAX && r->past[i][0] != '\0'; i++)
		json_array_append_new(past, json_string(r->past[i]));
	v = json_pack("{s:s, s:s, s:I, s:O}", "state", STATE_NAMES[r->state],
	    "incarnation", r->incarnation, "epoch", (json_int_t)r->epoch,
	    "past", past);
	return json_text(v);
}

struct record_body {
	int state;
	char incarnation[ID_MAX];
	int64_t epoch;
	const json_t *past;
};

/* clang-format off */
static const struct jfield FIELDS[] = {
	JFIELD_ENUM("state", struct record_body, state, J_REQUIRED, STATE_NAMES, "the state"),
	JFIELD("incarnation", struct record_body, incarnation, J_STR, J_REQUIRED, 0, ID_MAX - 1, "the one on record"),
	JFIELD("epoch", struct record_body, epoch, J_INT, J_REQUIRED, 0, INT64_MAX, "highest seen"),
	JFIELD("past", struct record_body, past, J_ARR, J_REQUIRED, 0, RECORD_PAST_MAX, "older ones"),
};
/* clang-format on */

int
record_parse(const char *text, size_t len, struct record *out, struct err *e)
{
	auto_json json_t *v = NULL;
	struct record_body body = { 0 };

	*out = (struct record){ 0 };
	if (json_parse(text, len, &v, e) < 0 ||
	    jfield_decode(v, FIELDS, ARRAY_LEN(FIELDS), 0, &body, e) < 0)
		return -1;
	out->state = (enum record_state)body.state;
	memcpy(out->incarnation, body.incarnation, sizeof(out->incarnation));
	out->epoch = body.epoch;
	for (size_t i = 0; i < json_array_size(body.past); i++) {
		const char *past =
		    json_string_value(json_array_get(body.past, i));

		if (past == NULL ||
		    !str_copy(out->past[i], sizeof(out->past[i]), past))
			return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
			    "past: must be incarnations");
	}
	return 0;
}
