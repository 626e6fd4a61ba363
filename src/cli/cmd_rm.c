/* cmd_rm.c: delete sessions, and see them gone. */
#include "cli/each.h"
#include "cli/sessions.h"

static int
rm_one(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *s = NULL, *then = NULL;

	if (session_call(k->client, "DELETE", id, "", NULL, &s, e) < 0)
		return -1;
	if (args_has(&k->args, "no-wait"))
		return each_say(k, s, json_str(s, "state"), e);
	if (session_settle(k->client, id, "deleting", -1, NULL, &then, e) < 0)
		return -1;
	return each_say(k, then, "deleted", e);
}

int
cmd_rm(struct cli *k, struct err *e)
{
	return each_session(k, rm_one, e);
}
