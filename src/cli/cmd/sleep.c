/* sleep.c: puts sessions to sleep, or suspends them. */
#include <stdio.h>

#include "cli/cmd/each.h"
#include "cli/http/sessions.h"

/* A suspended session is "asleep", too: says whether its memory was kept. */
static int
print_asleep(const struct cli *k, const json_t *s, struct err *e)
{
	bool frozen = json_is_true(json_object_get(s, "suspended"));

	if (k->json || (!frozen && !args_has(&k->args, "suspend")))
		return each_say(k, s, "asleep", e);
	if (frozen)
		printf("%s suspended\n", json_str(s, "id"));
	else
		printf("%s stopped, not suspended: %s\n", json_str(s, "id"),
		    json_str(s, "reason"));
	return 0;
}

static int
sleep_one(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *body = json_object(), *s = NULL;

	if (args_has(&k->args, "suspend"))
		json_object_set_new(body, "suspend", json_true());
	if (session_call(k->client, "POST", id, "/sleep", body, NULL, e) < 0 ||
	    session_settle(k->client, id, "sleeping", -1, NULL, &s, e) < 0)
		return -1;
	if (!str_equal(json_str(s, "state"), "asleep"))
		return each_say(k, s, "asleep", e);
	return print_asleep(k, s, e);
}

int
cmd_sleep(struct cli *k, struct err *e)
{
	return each_session(k, sleep_one, e);
}
