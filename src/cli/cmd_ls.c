/* cmd_ls.c: what sessions there are. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/sessions.h"
#include "cli/show.h"
#include "common/mem.h"

static const char *const TITLES[] = { "ID", "NAME", "STATE", "CLASS", "PORTS",
	"AGE", "ACTIVE" };

struct list {
	const struct cli *cli;
	struct table table;
};

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
	const char *label = args_value(a, "label");
	const char *equals = label != NULL ? strchr(label, '=') : NULL;

	buf_str(q, "");
	if (label != NULL && (equals == NULL || equals == label))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--label takes KEY=VALUE, not \"%.60s\"", label);
	if (label != NULL) {
		auto_free char *both = xstrdup(label);

		both[equals - label] = ':';
		buf_str(q, "label=");
		client_escape(q, both, false);
		buf_str(q, "&");
	}
	if (args_value(a, "state") != NULL) {
		buf_str(q, "state=");
		client_escape(q, args_value(a, "state"), false);
		buf_str(q, "&");
	}
	return 0;
}

int
cmd_ls(struct cli *k, struct err *e)
{
	struct list l = { .cli = k,
		.table = { TITLES, ARRAY_LEN(TITLES), 1, NULL, 0 } };
	auto_buf struct buf q = { 0 };
	int rc;

	if (make_query(&k->args, &q, e) < 0)
		return -1;
	rc = session_each(k->client, q.data, list_one, &l, e);
	/* the service shows those that are deleted only when it is asked */
	if (rc == 0 && args_has(&k->args, "all") &&
	    args_value(&k->args, "state") == NULL) {
		buf_str(&q, "state=deleted&");
		rc = session_each(k->client, q.data, list_one, &l, e);
	}
	if (rc == 0 && !k->json && !args_has(&k->args, "quiet"))
		table_end(&l.table);
	return rc;
}
