/* each.c: runs a function for each of several sessions. */
#include "cli/cmd/each.h"

#include <stdio.h>

#include "cli/http/sessions.h"
#include "cli/show.h"

int
each_session(struct cli *k, each_fn *one, struct err *e)
{
	return each_of(k, k->args.operands, k->args.operand, one, e);
}

int
each_of(struct cli *k, int count, char *const *words, each_fn *one,
    struct err *e)
{
	int rc = 0;

	for (int i = 0; i < count; i++) {
		struct err now = { 0 };
		char id[ID_MAX];

		if (session_find(k->client, words[i], id, &now) == 0 &&
		    one(k, id, &now) == 0)
			continue;
		if (now.kind == ERR_NOT_FOUND && args_has(&k->args, "force"))
			continue;
		if (rc < 0)
			show_problem(e->msg);
		*e = now;
		rc = -1;
	}
	return rc;
}

int
each_say(const struct cli *k, const json_t *s, const char *wanted,
    struct err *e)
{
	const char *state = json_str(s, "state"), *why = json_str(s, "reason");

	if (k->json)
		show_json(s);
	else
		printf("%s %s\n", json_str(s, "id"), state);
	if (str_equal(state, wanted))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_STATE,
	    "%s is %s, not %s%s%.100s; sandlease logs %s tells more",
	    json_str(s, "id"), state, wanted, why[0] != '\0' ? ": " : "", why,
	    json_str(s, "id"));
}
