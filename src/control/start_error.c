/* start_error.c: tells what the error of a start means. */
#include "control/start_error.h"

bool
start_worth_retry(const struct err *e)
{
	return CODE_IS_ONE_OF(e->code, CODE_NOT_LISTENING, CODE_PEER_CLOSED,
	    CODE_STALE_INCARNATION, CODE_STALE_GENERATION, CODE_ALREADY_RUNNING,
	    CODE_LEASE_CHANGED);
}

bool
start_undecided(const struct err *e)
{
	if (start_worth_retry(e))
		return true;
	return (e->kind == ERR_BUSY || e->kind == ERR_UNAVAILABLE) &&
	    !CODE_IS_ONE_OF(e->code, CODE_START_FAILED, CODE_LAUNCH_FAILED,
		CODE_ALREADY_ADOPTED, CODE_NO_ROOTFS, CODE_DRAINING,
		CODE_OTHER_HOST, CODE_HOST_NOT_READY, CODE_EGRESS_UNAVAILABLE);
}

bool
start_must_wait(const struct err *e)
{
	return e->code == CODE_LEASE_BUSY;
}

bool
start_setup_running(const struct err *e)
{
	return e->code == CODE_SETUP_RUNNING;
}

bool
start_setup_failed(const struct err *e)
{
	return e->code == CODE_SETUP_FAILED;
}
