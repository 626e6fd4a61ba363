/* snapshot.c: creates, lists and deletes snapshots. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

enum { WAIT_S = 50, PAGE = 200 };

/* ---- create */

/* Polls, with a pause; any GET makes the service finish the snapshot. */
static int
wait_until_created(struct cli *k, json_t **snapshot, struct err *e)
{
	const struct timespec pause = { .tv_nsec = 300000000 };

	while (str_equal(json_str(*snapshot, "state"), "creating")) {
		auto_free char *path =
		    xasprintf("/v1/snapshots/%s", json_str(*snapshot, "id"));
		json_t *next = NULL;

		nanosleep(&pause, NULL);
		if (client_call(k->client, "GET", path, NULL, &next, e) < 0)
			return -1;
		json_decref(*snapshot);
		*snapshot = next;
	}
	return 0;
}

int
cmd_snapshot_create(struct cli *k, struct err *e)
{
	const char *name = args_value(&k->args, "name");
	auto_free char *tail = xasprintf("/snapshots?wait=%d", WAIT_S);
	auto_json json_t *body = json_object(), *s = NULL;
	char id[ID_MAX];

	if (name != NULL)
		json_object_set_new(body, "name", json_lossy(name));
	if (session_find(k->client, k->args.operand[0], id, e) < 0 ||
	    session_call(k->client, "POST", id, tail, body, &s, e) < 0 ||
	    wait_until_created(k, &s, e) < 0)
		return -1;
	if (k->json)
		show_json(s);
	else
		puts(json_str(s, "id"));
	if (str_equal(json_str(s, "state"), "ready"))
		return EXIT_SUCCESS;
	return err_set(e, ERR_UNAVAILABLE, CODE_STATE,
	    "the snapshot is %s: %.150s", json_str(s, "state"),
	    json_str(s, "error"));
}

/* ---- ls */

struct list {
	const struct cli *cli;
	struct table table;
};

static void
list_one(struct list *l, const json_t *s)
{
	char age[SHOW_AGE_MAX], size[SHOW_AGE_MAX], files[24];

	if (l->cli->json) {
		show_json(s);
		return;
	}
	if (args_has(&l->cli->args, "quiet")) {
		puts(json_str(s, "id"));
		return;
	}
	show_age(json_str(s, "createdAt"), age);
	show_bytes(json_integer_value(json_object_get(s, "sizeBytes")), size);
	snprintf(files, sizeof(files), "%lld",
	    (long long)json_integer_value(json_object_get(s, "files")));
	table_add(&l->table,
	    (const char *const[]){ json_str(s, "id"), json_str(s, "name"),
		json_str(s, "state"), size, files, age,
		json_str(s, "sessionId") });
}

static int
list_pages(struct list *l, const char *base, struct err *e)
{
	auto_free char *cursor = xstrdup("");

	do {
		auto_free char *path = xasprintf("%s?limit=%d%s%s", base, PAGE,
		    cursor[0] != '\0' ? "&cursor=" : "", cursor);
		auto_json json_t *page = NULL;
		const json_t *s;
		size_t i;

		if (client_call(l->cli->client, "GET", path, NULL, &page, e) <
		    0)
			return -1;
		json_array_foreach(json_object_get(page, "snapshots"), i, s)
		{
			list_one(l, s);
		}
		mem_free_ptr(&cursor);
		cursor = xstrdup(json_str(page, "nextCursor"));
	} while (cursor[0] != '\0');
	return 0;
}

int
cmd_snapshot_ls(struct cli *k, struct err *e)
{
	static const char *const TITLES[] = { "SNAPSHOT", "NAME", "STATE",
		"SIZE", "FILES", "AGE", "SESSION" };
	struct list l = { k, .table = { TITLES, ARRAY_LEN(TITLES), 1 } };
	auto_free char *base = NULL;
	char id[ID_MAX];

	if (k->args.operands > 0) {
		if (session_find(k->client, k->args.operand[0], id, e) < 0)
			return -1;
		base = xasprintf("/v1/sessions/%s/snapshots", id);
	} else {
		base = xstrdup("/v1/snapshots");
	}
	if (list_pages(&l, base, e) < 0)
		return -1;
	if (!k->json && !args_has(&k->args, "quiet"))
		table_end(&l.table);
	return EXIT_SUCCESS;
}

/* ---- rm */

int
cmd_snapshot_rm(struct cli *k, struct err *e)
{
	int rc = 0;

	for (int i = 0; i < k->args.operands; i++) {
		auto_buf struct buf path = { 0 };
		struct err now = { 0 };

		buf_str(&path, "/v1/snapshots/");
		client_escape(&path, k->args.operand[i], false);
		if (client_call(k->client, "DELETE", path.data, NULL, NULL,
			&now) == 0) {
			printf(k->json ? "{\"id\":\"%s\",\"deleted\":true}\n"
				       : "%s deleted\n",
			    k->args.operand[i]);
			continue;
		}
		if (rc < 0)
			show_problem(e->msg);
		*e = now;
		err_wrap(e, "%.40s", k->args.operand[i]);
		rc = -1;
	}
	return rc;
}
