/* interrupt_control.c: ends the commands in a session that itself goes on. */
#include "control/interrupt_control.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/link.h"

enum { INTERRUPT_MS = 12000 };

static int
refuse_not_ready(struct control *ctl, const char *id, const char *tenant,
    struct err *e)
{
	struct session_row s;

	if (control_session(ctl, id, tenant, &s, e) < 0 ||
	    control_must_live(s.state, e) < 0)
		return -1;
	return err_set(e, ERR_CONFLICT, CODE_SESSION_NOT_READY,
	    "the session is %s: nothing runs that could be interrupted",
	    SESSION_STATES[s.state]);
}

static int
interrupt_and_record(struct control *ctl, const char *id,
    const char *interrupt_id, int64_t age_ms, int64_t *count, struct err *e)
{
	auto_free char *detail = NULL;
	struct session_row s;
	struct agent_target t;

	if (control_session(ctl, id, "", &s, e) < 0)
		return -1;
	if (control_must_be_here(ctl, &s, e) < 0)
		return -1;
	t = control_target(&s);
	if (agent_interrupt(&ctl->provider, &t, age_ms,
		clock_ms() + INTERRUPT_MS, count, e) < 0)
		return -1;
	CRASH_POINT("interrupt.done");
	detail =
	    control_spec_text(json_pack("{s:I}", "count", (json_int_t)*count));
	return STORE_RUN(ctl->store, STMT_SESSION_INTERRUPT_END, NULL, e, id,
	    interrupt_id, ctl->trace, control_actor(ctl), detail);
}

int
interrupt_session(struct control *ctl, const char *id, const char *tenant,
    int64_t *count, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char interrupt_id[ID_INSTANCE_LEN + 1];

	*count = 0;
	id_random(interrupt_id, ID_INSTANCE_LEN);
	if (STORE_RUN(ctl->store, STMT_SESSION_INTERRUPT_BEGIN, &r, e, id,
		tenant, interrupt_id, ctl->trace, control_actor(ctl)) < 0)
		return -1;
	if (rows_count(r) == 0)
		return refuse_not_ready(ctl, id, tenant, e);
	CRASH_POINT("interrupt.intent");
	if (interrupt_and_record(ctl, id, interrupt_id, 0, count, e) < 0) {
		if (e->kind != ERR_UNAVAILABLE)
			return -1;
		if (e->code == CODE_OTHER_HOST) {
			*count = -1;
			return 0;
		}
		return err_wrap(e,
		    "the commands have not been interrupted yet; the reaper will do it");
	}
	return 0;
}

int
interrupt_session_shell(struct control *ctl, const char *id, const char *tenant,
    const char *shell, int64_t *count, struct err *e)
{
	auto_free char *detail = NULL;
	struct session_row s;
	struct agent_target t;
	char generation[24];

	if (control_session(ctl, id, tenant, &s, e) < 0)
		return -1;
	if (s.state != SESSION_READY || s.lease != LEASE_OWNS_WRAPPER)
		return refuse_not_ready(ctl, id, tenant, e);
	if (control_must_be_here(ctl, &s, e) < 0)
		return -1;
	t = control_target(&s);
	if (agent_interrupt_shell(&ctl->provider, &t, shell,
		clock_ms() + INTERRUPT_MS, count, e) < 0) {
		if (e->code == CODE_UNKNOWN_OP)
			return err_set(e, ERR_UNSUPPORTED, CODE_NOT_IMPLEMENTED,
			    "the session runs an agent of an older release, which can only interrupt all commands: put it to sleep once to update it");
		return -1;
	}
	detail = control_spec_text(json_pack("{s:I, s:s}", "count",
	    (json_int_t)*count, "sessionId", shell));
	snprintf(generation, sizeof(generation), "%" PRId64, s.generation);
	return STORE_RUN(ctl->store, STMT_SESSION_INTERRUPTED_SHELL, NULL, e,
	    id, generation, ctl->trace, control_actor(ctl), detail);
}

int
interrupt_finish(struct control *ctl, const char *id, const char *interrupt_id,
    int64_t age_ms, bool over, struct err *e)
{
	int64_t count;

	if (over)
		return STORE_RUN(ctl->store, STMT_SESSION_INTERRUPT_END, NULL,
		    e, id, interrupt_id, ctl->trace, control_actor(ctl),
		    "{\"over\": true}");
	return interrupt_and_record(ctl, id, interrupt_id, age_ms, &count, e);
}
