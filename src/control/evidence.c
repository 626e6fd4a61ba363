/*
 * evidence.c: judges a whole sandbox by the failed start of one session in it.
 */
#include "control/evidence.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/sandbox_control.h"
#include "provider/provider.h"

static void
add_disk_event(struct control *ctl, const struct launch *l, const char *what,
    const struct err *why)
{
	auto_free char *detail =
	    control_spec_text(json_pack("{s:s}", "error", err_told(why)));
	struct err e = { 0 };
	char generation[24];

	snprintf(generation, sizeof(generation), "%" PRId64,
	    l->target.generation);
	if (STORE_RUN(ctl->store, STMT_EVENT_ADD, NULL, &e, l->target.session,
		"disk", what, generation, ctl->trace, detail) < 0)
		log_err(LOG_WARN, "event", &e);
}

/*
 * Whether the full disk is the sandbox's own.  Any tenant may have filled a
 * shared disk: that is an alert, and no sandbox ends.  The other things that a
 * start writes to, sockets and control groups, are shared, too.  Only the
 * workspace can lie on a disk of the sandbox.
 */
static bool
is_own_disk(struct control *ctl, const struct launch *l, const struct err *why)
{
	if (steps_are_at(&l->steps, "workspace") &&
	    ctl->provider.ops->own_disk(&ctl->provider, l->sandbox.id))
		return true;
	log_err(LOG_ERROR, "disk_full", why);
	add_disk_event(ctl, l, "full", why);
	return false;
}

static bool
failed_twice(struct control *ctl, const struct launch *l)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(ctl->store, STMT_SANDBOX_PROBE_FAILED, &r, &e,
		l->sandbox.id, l->sandbox.incarnation) < 0) {
		log_err(LOG_WARN, "evidence", &e);
		return false;
	}
	CRASH_POINT("evidence.counted");
	return rows_bool(r, 0, "evidence");
}

static bool
is_evidence(struct control *ctl, const struct launch *l, const struct err *why)
{
	if (why->code == CODE_NO_SPACE_LEFT) /* by errno: texts can be forged */
		return is_own_disk(ctl, l, why);
	/* the rows are older than the sandbox: its files are another's */
	if (CODE_IS_ONE_OF(why->code, CODE_ENGINE_BROKEN, CODE_ALREADY_ADOPTED))
		return true;
	return why->code == CODE_TIMED_OUT && !l->hurried &&
	    failed_twice(ctl, l);
}

bool
evidence_weigh(struct control *ctl, const struct launch *l,
    const struct err *why)
{
	size_t sessions;
	struct err e = { 0 };

	if (!is_evidence(ctl, l, why))
		return false;
	log_line(LOG_ERROR, "sandbox_destroyed",
	    "sandbox %s is ended, because of: %s", l->sandbox.id, why->msg);
	add_disk_event(ctl, l, "sandbox_destroyed", why);
	CRASH_POINT("evidence.noted");
	if (sandbox_control_condemn(ctl, l->sandbox.id, l->sandbox.incarnation,
		&sessions, &e) < 0) {
		log_err(LOG_ERROR, "sandbox_destroyed", &e);
		return false;
	}
	CRASH_POINT("evidence.ended");
	return true;
}
