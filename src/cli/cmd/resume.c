/* resume.c: starts sessions that sleep. */
#include "cli/cmd/each.h"
#include "cli/http/sessions.h"

static int
resume_one(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *s = NULL;

	if (session_call(k->client, "POST", id, "/resume?wait=50", NULL, NULL,
		e) < 0 ||
	    session_settle(k->client, id, "initializing", -1, NULL, &s, e) < 0)
		return -1;
	return each_say(k, s, "ready", e);
}

int
cmd_resume(struct cli *k, struct err *e)
{
	return each_session(k, resume_one, e);
}
