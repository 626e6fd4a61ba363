/* rm.c: deletes sessions, and waits until they are gone. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/ask.h"
#include "cli/cmd/each.h"
#include "cli/http/sessions.h"
#include "common/mem.h"

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

/* ---- sessions with a label, or all */

enum { SHOWN = 10 };

struct found {
	char **id;
	int count;
};

static int
add_found(void *ctx, json_t *s, struct err *e)
{
	struct found *f = ctx;

	(void)e;
	f->id = xrealloc(f->id, ((size_t)f->count + 1) * sizeof(*f->id));
	f->id[f->count++] = xstrdup(json_str(s, "id"));
	return 0;
}

/* Shows the sessions that --label or --all selects, and asks.  Sessions named
 * one by one are deleted without a question. */
static int
confirm(const struct cli *k, const struct found *f, struct err *e)
{
	auto_free char *question = NULL;

	if (f->count == 0 || args_has(&k->args, "yes"))
		return 0;
	for (int i = 0; i < f->count && i < SHOWN; i++)
		fprintf(stderr, "  %s\n", f->id[i]);
	if (f->count > SHOWN)
		fprintf(stderr, "  and %d more\n", f->count - SHOWN);
	if (!ask_possible())
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "these are %d sessions; --yes deletes them without a question",
		    f->count);
	question = xasprintf("Delete %d session%s, with all files? [y/N] ",
	    f->count, f->count == 1 ? "" : "s");
	if (ask_yes(question))
		return 0;
	return err_set(e, ERR_INVALID, CODE_INTERRUPTED, "nothing was deleted");
}

static int
rm_selected(struct cli *k, struct err *e)
{
	auto_buf struct buf query = { 0 };
	struct found f = { 0 };
	int rc;

	buf_str(&query, "");
	rc = session_query(args_value(&k->args, "label"), &query, e);
	if (rc == 0)
		rc = session_each(k->client, query.data, add_found, &f, e);
	if (rc == 0)
		rc = confirm(k, &f, e);
	if (rc == 0)
		rc = each_of(k, f.count, f.id, rm_one, e);
	for (int i = 0; i < f.count; i++)
		free(f.id[i]);
	free(f.id);
	return rc;
}

int
cmd_rm(struct cli *k, struct err *e)
{
	bool all = args_has(&k->args, "all");
	bool label = args_value(&k->args, "label") != NULL;

	if (all + label + (k->args.operands > 0) != 1)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "say which sessions: sandlease rm ID..., --label KEY=VALUE or --all");
	return all || label ? rm_selected(k, e) : each_session(k, rm_one, e);
}
