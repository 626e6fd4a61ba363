/* sandbox_control.c: ending a sandbox, with its own lease. */
#include "control/sandbox_control.h"

#include "common/clock.h"
#include "common/str.h"

enum { END_SECONDS = 15 };

int
sandbox_control_end(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
{
	const struct provider_ops *ops = ctl->provider.ops;
	int64_t deadline = clock_ms() + END_SECONDS * 1000;
	auto_rows struct rows *r = NULL;

	*done = false;
	if (STORE_RUN(ctl->store, STMT_SANDBOX_RETIRE, &r, e, id, incarnation,
		destroy ? "true" : "false", "30") < 0)
		return -1;
	if (!rows_bool(r, 0, "granted"))
		return 0;
	if ((destroy ? ops->destroy : ops->stop)(&ctl->provider, id,
		incarnation, deadline, e) < 0)
		return err_wrap(e, "sandbox %s", id);
	if (STORE_RUN(ctl->store, STMT_SANDBOX_SETTLE, NULL, e, id, incarnation,
		destroy ? "absent" : "stopped", NULL) < 0)
		return -1;
	*done = true;
	return 0;
}

int
sandbox_control_retire(struct control *ctl, const char *id,
    const char *incarnation, bool destroy, bool *done, struct err *e)
{
	int rc;

	if (control_lock(ctl, id, e) < 0)
		return -1;
	rc = sandbox_control_end(ctl, id, incarnation, destroy, done, e);
	control_unlock(ctl, id);
	return rc;
}
