/* cmd_sleep.c: stop what runs, keep the files. */
#include "cli/each.h"
#include "cli/sessions.h"

static int
sleep_one(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *body = json_object(), *s = NULL;

	if (args_has(&k->args, "suspend"))
		json_object_set_new(body, "suspend", json_true());
	if (session_call(k->client, "POST", id, "/sleep", body, NULL, e) < 0 ||
	    session_settle(k->client, id, "sleeping", -1, NULL, &s, e) < 0)
		return -1;
	return each_say(k, s, "asleep", e);
}

int
cmd_sleep(struct cli *k, struct err *e)
{
	return each_session(k, sleep_one, e);
}
