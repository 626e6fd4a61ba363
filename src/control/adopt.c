/* adopt.c: gives a session the wrapper of the warm pool that its create claimed. */
#include "control/adopt.h"

#include "common/fault.h"
#include "provider/link/link.h"

bool
adopt_is_due(const struct launch *l)
{
	return l->adoption[0] != '\0' && l->first;
}

/* Files, network and setup come before the proof. */
static bool
is_proved_at_once(const struct launch *l)
{
	return json_array_size(l->files) == 0 && l->setup == NULL &&
	    !l->network;
}

int
adopt_wrapper(struct control *ctl, struct launch *l, int64_t deadline_ms,
    struct err *e)
{
	const struct agent_adoption a = { .claim = l->adoption,
		.prove = is_proved_at_once(l) };

	if (agent_adopt(&ctl->provider, &l->target, &l->agent, &a, deadline_ms,
		e) < 0) {
		/* dead, unnoticed: the next generation takes its place */
		if (CODE_IS_ONE_OF(e->code, CODE_WRAPPER_UNAVAILABLE,
			CODE_NOT_SERVING))
			e->code = CODE_NOT_LISTENING;
		return -1;
	}
	CRASH_POINT("launch.adopted");
	l->proved = a.prove;
	return 0;
}
