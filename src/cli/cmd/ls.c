/* ls.c: lists sessions. */
#include <stdio.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/output.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

static const char *const TITLES[] = { "ID", "NAME", "STATE", "CLASS", "PORTS",
	"AGE", "ACTIVE" };

enum { LOOK_S = 2 };

struct list {
	const struct cli *cli;
	struct table table;
	json_t *seen; /* with --watch --json: the last JSON printed, by id */
};

/* True if the session was printed before and has not changed since; false
 * without --watch --json. */
static bool
is_printed(struct list *l, const json_t *s)
{
	const char *id = json_str(s, "id");
	bool old =
	    l->seen != NULL && json_equal(json_object_get(l->seen, id), s) != 0;

	if (l->seen != NULL && !old)
		json_object_set_new(l->seen, id, json_deep_copy(s));
	return old;
}

static void
port_numbers(const json_t *session, struct buf *out)
{
	const json_t *port;
	size_t i;

	buf_str(out, "");
	json_array_foreach(json_object_get(session, "ports"), i, port)
	{
		buf_fmt(out, "%s%lld", i > 0 ? "," : "",
		    (long long)json_integer_value(
			json_object_get(port, "port")));
	}
}

static int
list_one(void *ctx, json_t *s, struct err *e)
{
	struct list *l = ctx;
	char age[SHOW_AGE_MAX], active[SHOW_AGE_MAX];
	auto_buf struct buf ports = { 0 };

	(void)e;
	if (l->cli->json) {
		if (!is_printed(l, s))
			show_json(s);
		return 0;
	}
	if (args_has(&l->cli->args, "quiet")) {
		puts(json_str(s, "id"));
		return 0;
	}
	show_age(json_str(s, "createdAt"), age);
	show_age(json_str(s, "lastActivityAt"), active);
	port_numbers(s, &ports);
	table_add(&l->table,
	    (const char *const[]){ json_str(s, "id"), json_str(s, "name"),
		json_is_true(json_object_get(s, "busy")) ? "busy"
							 : json_str(s, "state"),
		json_str(s, "class"), ports.data, age, active });
	return 0;
}

static int
make_query(const struct args *a, struct buf *q, struct err *e)
{
	buf_str(q, "");
	if (session_query(args_value(a, "label"), q, e) < 0)
		return -1;
	if (args_value(a, "state") != NULL) {
		buf_str(q, "state=");
		client_escape(q, args_value(a, "state"), false);
		buf_str(q, "&");
	}
	return 0;
}

static int
list_all(struct list *l, const char *query, struct err *e)
{
	const struct cli *k = l->cli;
	auto_buf struct buf q = { 0 };
	int rc = session_each(k->client, query, list_one, l, e);

	/* the service lists deleted sessions only for state=deleted */
	if (rc == 0 && args_has(&k->args, "all") &&
	    args_value(&k->args, "state") == NULL) {
		buf_fmt(&q, "%sstate=deleted&", query);
		rc = session_each(k->client, q.data, list_one, l, e);
	}
	return rc;
}

/* Prints the list every LOOK_S seconds.  On a terminal it replaces the last
 * one; elsewhere a blank line separates them. */
static int
list_repeatedly(struct list *l, const char *query, struct err *e)
{
	bool plain = l->cli->json || args_has(&l->cli->args, "quiet");
	const char *divider =
	    isatty(STDOUT_FILENO) == 1 ? "\033[H\033[2J\033[3J" : "";

	l->seen = l->cli->json ? json_object() : NULL;
	while (!output_is_unread()) {
		struct err now = { 0 };

		fputs(plain ? "" : divider, stdout);
		if (list_all(l, query, &now) < 0) {
			/* the service may be restarting: try again */
			if (now.kind != ERR_UNAVAILABLE) {
				*e = now;
				json_decref(l->seen);
				return -1;
			}
			show_problem(now.msg);
		}
		if (!plain)
			table_end(&l->table);
		if (!plain && divider[0] == '\0')
			divider = "\n";
		fflush(stdout);
		sleep(LOOK_S);
	}
	json_decref(l->seen);
	return OUTPUT_UNREAD;
}

int
cmd_ls(struct cli *k, struct err *e)
{
	struct list l = { .cli = k, .table = { TITLES, ARRAY_LEN(TITLES), 1 } };
	auto_buf struct buf q = { 0 };
	int rc;

	if (make_query(&k->args, &q, e) < 0)
		return -1;
	if (args_has(&k->args, "watch"))
		return list_repeatedly(&l, q.data, e);
	rc = list_all(&l, q.data, e);
	if (rc == 0 && !k->json && !args_has(&k->args, "quiet"))
		table_end(&l.table);
	return rc;
}
