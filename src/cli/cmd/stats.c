/* stats.c: prints what sessions use, beside their limits. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

enum { CELL_MAX = 48, MILLIS = 1000 };

static const char *const TITLES[] = { "ID", "NAME", "STATE", "CPU", "MEMORY",
	"DISK", "PROCESSES", "RUNS", "ACTIVE" };

struct stats {
	const struct cli *cli;
	struct table table;
};

/* A limit of a session, which has {"value", "by"}; 0: none. */
static int64_t
limit_of(const json_t *session, const char *key)
{
	const json_t *limits = json_object_get(session, "limits");

	return json_integer_value(
	    json_object_get(json_object_get(limits, key), "value"));
}

/* "12/1024 MB"; "-" stands for a number that the service does not know. */
static void
use_text(const json_t *used, int64_t part, int64_t limit, const char *unit,
    char out[CELL_MAX])
{
	char a[24] = "-", b[24] = "-";

	if (json_is_integer(used))
		snprintf(a, sizeof(a), "%lld",
		    (long long)(json_integer_value(used) / part));
	if (limit > 0)
		snprintf(b, sizeof(b), "%lld", (long long)limit);
	snprintf(out, CELL_MAX, "%s/%s%s", a, b, unit);
}

/* "97%/100%", where 100% is one processor. */
static void
cpu_text(const json_t *percent, int64_t millis, char out[CELL_MAX])
{
	char a[24] = "-", b[24] = "-";

	if (json_is_number(percent))
		snprintf(a, sizeof(a), "%.0f%%", json_number_value(percent));
	if (millis > 0)
		snprintf(b, sizeof(b), "%lld%%",
		    (long long)(millis * 100 / MILLIS));
	snprintf(out, CELL_MAX, "%s/%s", a, b);
}

static void
add_line(struct stats *t, const json_t *s, const json_t *usage)
{
	const json_t *threads = json_object_get(usage, "threads");
	char cpu[CELL_MAX], memory[CELL_MAX], disk[CELL_MAX], pids[CELL_MAX];
	char runs[SHOW_AGE_MAX], active[SHOW_AGE_MAX];
	bool ready = str_equal(json_str(s, "state"), "ready");
	bool busy = json_is_true(json_object_get(s, "busy"));

	cpu_text(json_object_get(usage, "cpuPercent"), limit_of(s, "cpuMillis"),
	    cpu);
	use_text(json_object_get(usage, "memoryBytes"), 1 << 20,
	    limit_of(s, "memoryMb"), " MB", memory);
	use_text(json_object_get(usage, "diskMb"), 1, limit_of(s, "diskMb"),
	    " MB", disk);
	/* the limit counts threads; not every service knows them */
	use_text(json_is_integer(threads) ? threads
					  : json_object_get(usage, "processes"),
	    1, limit_of(s, "pids"), "", pids);
	show_age(ready ? json_str(s, "startedAt") : "", runs);
	show_age(json_str(s, "lastActivityAt"), active);
	table_add(&t->table,
	    (const char *const[]){ json_str(s, "id"), json_str(s, "name"),
		busy ? "busy" : json_str(s, "state"), cpu, memory, disk, pids,
		runs, active });
}

/* A service that does not answer leaves the numbers out, not the session. */
static int
add_stats(void *ctx, json_t *s, struct err *e)
{
	struct stats *t = ctx;
	auto_json json_t *found = NULL, *line = NULL;
	const json_t *usage;
	struct err ignored = { 0 };

	(void)e;
	(void)!session_call(t->cli->client, "GET", json_str(s, "id"),
	    "/statistics", NULL, &found, &ignored);
	usage = json_object_get(found, "usage");
	if (!t->cli->json) {
		add_line(t, s, usage);
		return 0;
	}
	line = json_pack("{s:O, s:O, s:O, s:O?, s:O?, s:O*}", "id",
	    json_object_get(s, "id"), "state", json_object_get(s, "state"),
	    "limits", json_object_get(s, "limits"), "startedAt",
	    json_object_get(s, "startedAt"), "lastActivityAt",
	    json_object_get(s, "lastActivityAt"), "usage",
	    json_object_get(found, "usage"));
	show_json(line);
	return 0;
}

int
cmd_stats(struct cli *k, struct err *e)
{
	struct stats t = { k, .table = { TITLES, ARRAY_LEN(TITLES), 1 } };
	int rc = 0;

	if (k->args.operands == 0)
		rc = session_each(k->client, "", add_stats, &t, e);
	for (int i = 0; rc == 0 && i < k->args.operands; i++) {
		auto_json json_t *s = NULL;
		char id[ID_MAX];

		rc = session_find(k->client, k->args.operand[i], id, e);
		if (rc == 0)
			rc =
			    session_call(k->client, "GET", id, "", NULL, &s, e);
		if (rc == 0)
			rc = add_stats(&t, s, e);
	}
	if (!k->json)
		table_end(&t.table);
	return rc;
}
