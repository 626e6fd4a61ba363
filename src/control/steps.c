/* steps.c: collects the steps of a start, and how long each took. */
#include "control/steps.h"

#include "common/clock.h"
#include "common/str.h"

void
steps_end(struct steps *s)
{
	if (steps_under_way(s))
		s->step[s->count - 1].ended_us = clock_us();
}

void
steps_enter(struct steps *s, const char *what, const char *how)
{
	steps_end(s);
	if (s->count < STEPS_MAX)
		s->step[s->count++] = (struct step){ .what = what,
			.how = how,
			.began_us = clock_us() };
}

void
steps_tell(struct steps *s, const char *how)
{
	if (steps_under_way(s))
		s->step[s->count - 1].how = how;
}

bool
steps_under_way(const struct steps *s)
{
	return s->count > 0 && s->step[s->count - 1].ended_us == 0;
}

bool
steps_are_at(const struct steps *s, const char *what)
{
	return steps_under_way(s) &&
	    str_equal(s->step[s->count - 1].what, what);
}

json_t *
steps_json(const struct steps *s, const struct err *why)
{
	json_t *list = json_array();
	int64_t now = clock_us();

	for (size_t i = 0; i < s->count; i++) {
		const struct step *t = &s->step[i];
		bool ended = t->ended_us != 0;
		int64_t end = ended ? t->ended_us : now;

		json_array_append_new(list,
		    json_pack("{s:s, s:s*, s:I, s:I, s:s*}", "what", t->what,
			"how", ended ? t->how : NULL, "ms",
			(json_int_t)((end - t->began_us) / 1000), "ago",
			(json_int_t)((now - end) / 1000), "error",
			!ended && why != NULL ? err_told(why) : NULL));
	}
	return list;
}
