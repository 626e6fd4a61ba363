/* keys_control.c: gives sessions the correlation keys that they ask for. */
#include "control/keys_control.h"

#include "common/clock.h"
#include "common/fault.h"
#include "common/mem.h"
#include "provider/link/link.h"

enum { ASK_MS = 2000 };

int
keys_pull(struct control *ctl, const struct agent_target *t, struct err *e)
{
	auto_json json_t *keys = NULL;
	auto_free char *list = NULL;

	if (agent_keys(&ctl->provider, t, clock_ms() + ASK_MS, &keys, e) < 0)
		return -1;
	CRASH_POINT("keys.asked");
	if (keys == NULL)
		return 0;
	list = json_text(keys);
	return STORE_RUN(ctl->store, STMT_KEYS_TAKE, NULL, e, t->session, list,
	    ctl->trace);
}
