/* provider.c: the names of enum presence. */
#include "provider/provider.h"

#include "common/mem.h"

const char *const PRESENCE_NAMES[] = { [PRESENCE_RUNNING] = "running",
	[PRESENCE_STOPPED] = "stopped",
	[PRESENCE_ABSENT] = "absent",
	[PRESENCE_UNKNOWN] = "unknown",
	NULL };
_Static_assert(ARRAY_LEN(PRESENCE_NAMES) == PRESENCE__MAX + 1,
    "every presence has a name");
