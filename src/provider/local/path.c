/* path.c: builds the path of a sandbox's control socket. */
#include "common/mem.h"
#include "provider/local/local.h"

enum { CONTROL_NAME_LEN = 32 };

char *
local_control_path(const struct provider *p, const char *name,
    const char *incarnation)
{
	return xasprintf("%s/c/%.*s.%s", p->conf->run_dir, CONTROL_NAME_LEN,
	    name, incarnation);
}
