/* network_trust.c: makes a session trust sandlease-egress's certificates. */
#include "control/network_trust.h"

#include "common/mem.h"
#include "provider/link/link.h"

int
network_trust(struct control *ctl, const struct agent_target *t,
    int64_t deadline_ms, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_NETWORK_TRUST, &r, e, t->session) < 0)
		return -1;
	if (rows_count(r) == 0)
		return 0;
	if (rows_null(r, 0, "certificate"))
		return err_set(e, ERR_UNAVAILABLE, CODE_EGRESS_UNAVAILABLE,
		    "sandlease-egress has made no certificates yet");
	return agent_trust(&ctl->provider, t, rows_text(r, 0, "certificate"),
	    deadline_ms, e);
}
