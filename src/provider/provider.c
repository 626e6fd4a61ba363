/* provider.c: names and helpers of the interface. */
#include "provider/provider.h"

#include <unistd.h>

#include "common/mem.h"

const char *const PRESENCE_NAMES[] = { [PRESENCE_RUNNING] = "running",
	[PRESENCE_STOPPED] = "stopped",
	[PRESENCE_ABSENT] = "absent",
	[PRESENCE_UNKNOWN] = "unknown",
	NULL };
_Static_assert(ARRAY_LEN(PRESENCE_NAMES) == PRESENCE__MAX + 1,
    "every presence has a name");

void
run_group_close(struct run_group *g)
{
	for (size_t i = 0; i < g->join_count; i++)
		close(g->join[i]);
	for (size_t i = 0; i < g->meter_count; i++)
		close(g->meter[i].fd);
	*g = (struct run_group){ 0 };
}

const struct run_meter *
run_group_meter(const struct run_group *g, const char *what)
{
	for (size_t i = 0; i < g->meter_count; i++)
		if (str_equal(g->meter[i].what, what))
			return &g->meter[i];
	return NULL;
}
