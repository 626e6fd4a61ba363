/* later.c: keeps what cannot be done now, in the order of each session. */
#include "common/clock.h"
#include "common/str.h"
#include "egress/process.h"

enum {
	LATER_MS = 1000,
	LATER_MAX = 10000 /* messages; more are lost */
};

void
later_set(struct rows_process *p)
{
	/* another message does not put the first one off */
	if (p->later_timer.index == 0)
		loop_set(&p->loop, &p->later_timer, clock_ms() + LATER_MS);
}

void
later_add(struct rows_process *p, json_t *msg)
{
	if (json_array_size(p->later) < LATER_MAX)
		json_array_append(p->later, msg);
	later_set(p);
}

bool
later_has(const json_t *list, const char *session)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		if (str_equal(json_str(v, "session"), session))
			return true;
	}
	return false;
}

void
later_follow(struct rows_process *p, const char *session)
{
	size_t i;
	json_t *v;

	json_array_foreach(p->later, i, v)
	{
		if (str_equal(json_str(v, "op"), "follow") &&
		    str_equal(json_str(v, "session"), session))
			return;
	}
	json_array_append_new(p->later,
	    json_pack("{s:s, s:s}", "op", "follow", "session", session));
	later_set(p);
}
