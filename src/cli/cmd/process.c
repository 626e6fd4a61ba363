/* process.c: lists and ends background processes of a session. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/process.h"
#include "cli/http/sessions.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

static const char *const TITLES[] = { "PROCESS", "STATUS", "CODE", "PID", "AGE",
	"COMMAND" };

static void
number_of(const json_t *p, const char *key, char out[16])
{
	const json_t *v = json_object_get(p, key);

	out[0] = '\0';
	if (json_is_integer(v))
		snprintf(out, 16, "%d", (int)json_integer_value(v));
}

int
processes_list(struct cli *k, const char *id, bool ended, struct err *e)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), 5 };
	bool quiet = args_has(&k->args, "quiet");
	auto_json json_t *answer = NULL;
	json_t *p;
	size_t i;

	if (session_call(k->client, "GET", id, "/api/process/list", NULL,
		&answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "processes"), i, p)
	{
		char age[SHOW_AGE_MAX], code[16], pid[16];

		if (!ended && json_object_get(p, "exitCode") != NULL)
			continue;
		if (k->json) {
			show_json(p);
			continue;
		}
		if (quiet) {
			puts(json_str(p, "id"));
			continue;
		}
		number_of(p, "exitCode", code);
		number_of(p, "pid", pid);
		show_age(json_str(p, "startTime"), age);
		table_add(&t,
		    (const char *const[]){ json_str(p, "id"),
			json_str(p, "status"), code, pid, age,
			json_str(p, "command") });
	}
	if (!k->json && !quiet)
		table_end(&t);
	return EXIT_SUCCESS;
}

int
cmd_ps(struct cli *k, struct err *e)
{
	char id[ID_MAX];

	if (session_find(k->client, k->args.operand[0], id, e) < 0)
		return -1;
	return processes_list(k, id, args_has(&k->args, "all"), e);
}

/* ---- kill */

static int
kill_one(struct cli *k, const char *id, const char *process, struct err *e)
{
	const char *signal = args_value(&k->args, "signal");
	auto_json json_t *body = NULL, *answer = NULL;
	auto_buf struct buf tail = { 0 };

	buf_str(&tail, "/api/process/");
	client_escape(&tail, process, false);
	if (signal != NULL) {
		buf_str(&tail, "/signal");
		body = json_pack("{s:o}", "signal", json_lossy(signal));
	}
	if (session_call(k->client, signal != NULL ? "POST" : "DELETE", id,
		tail.data, body, &answer, e) < 0)
		return err_wrap(e, "%.60s", process);
	if (k->json)
		show_json(answer);
	else if (signal == NULL)
		show_field(process, "ended");
	return 0;
}

static int
kill_all(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *answer = NULL;

	if (session_call(k->client, "DELETE", id, "/api/process/kill-all", NULL,
		&answer, e) < 0)
		return -1;
	if (k->json)
		show_json(answer);
	else
		printf("%lld ended\n",
		    (long long)json_integer_value(
			json_object_get(answer, "cleanedCount")));
	return EXIT_SUCCESS;
}

int
cmd_kill(struct cli *k, struct err *e)
{
	bool all = args_has(&k->args, "all");
	char id[ID_MAX];
	int rc = 0;

	if (all == (k->args.operands > 1) ||
	    (all && args_has(&k->args, "signal")))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "say which: sandlease kill [--signal NAME] ID PROCESS..., or sandlease kill --all ID");
	if (session_find(k->client, k->args.operand[0], id, e) < 0)
		return -1;
	if (all)
		return kill_all(k, id, e);
	for (int i = 1; i < k->args.operands; i++) {
		struct err now = { 0 };

		if (kill_one(k, id, k->args.operand[i], &now) == 0)
			continue;
		if (rc < 0)
			show_problem(e->msg);
		*e = now;
		rc = -1;
	}
	return rc;
}
