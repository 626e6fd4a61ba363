/* execution.c: lists and cancels commands that run (api/executions). */
#include "agent/api/routes.h"
#include "agent/run/interrupt.h"
#include "web/reply.h"

int
api_execution_list(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:o}", "executions", interrupt_list()));
}

/* The call that waits for the command gets exit code 130, `interrupted`. */
int
api_execution_cancel(struct call *c, struct err *e)
{
	const char *id = call_var(c, "id");
	size_t count;

	if (interrupt_these(&(struct interrupt_meant){ .id = id }, &count, e) <
	    0)
		return -1;
	if (count == 0)
		return err_set(e, ERR_NOT_FOUND, CODE_EXECUTION_NOT_FOUND,
		    "no command with the id '%.64s' runs; it may have ended",
		    id);
	return reply_container(c,
	    json_pack("{s:o, s:b}", "executionId", json_lossy(id), "cancelled",
		1));
}
