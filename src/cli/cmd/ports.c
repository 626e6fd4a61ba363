/* ports.c: lists, adds and removes preview URLs of a session. */
#include <stdio.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/ports.h"
#include "cli/http/sessions.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

enum { PORT_MIN = 1024, PORT_MAX = 65535, EXPIRES_MAX_S = 365 * 86400 };

/* Reads the session and the port from the operands. */
static int
read_operands(struct cli *k, char id[ID_MAX], int64_t *port, struct err *e)
{
	if (!str_to_int(k->args.operand[1], PORT_MIN, PORT_MAX, port))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a port is a number from %d to %d, not \"%.40s\"", PORT_MIN,
		    PORT_MAX, k->args.operand[1]);
	return session_find(k->client, k->args.operand[0], id, e);
}

int
cmd_ports_ls(struct cli *k, struct err *e)
{
	static const char *const TITLES[] = { "PORT", "NAME", "STATUS", "URL" };
	struct table t = { TITLES, ARRAY_LEN(TITLES), 1 };
	auto_json json_t *answer = NULL;
	char id[ID_MAX];
	json_t *p;
	size_t i;

	if (session_find(k->client, k->args.operand[0], id, e) < 0 ||
	    session_call(k->client, "GET", id, "/ports", NULL, &answer, e) < 0)
		return -1;
	json_array_foreach(json_object_get(answer, "ports"), i, p)
	{
		char number[8];

		if (k->json) {
			show_json(p);
			continue;
		}
		snprintf(number, sizeof(number), "%d",
		    (int)json_integer_value(json_object_get(p, "port")));
		table_add(&t,
		    (const char *const[]){ number, json_str(p, "name"),
			json_str(p, "status"), json_str(p, "url") });
	}
	if (!k->json)
		table_end(&t);
	return EXIT_SUCCESS;
}

int
ports_show(const struct cli *k, const json_t *port)
{
	if (k->json)
		show_json(port);
	else
		puts(json_str(port, "url"));
	return EXIT_SUCCESS;
}

int
ports_expose(struct cli *k, json_t **out, struct err *e)
{
	auto_json json_t *body = NULL;
	const char *name = args_value(&k->args, "name");
	const char *host = args_value(&k->args, "host");
	int64_t port, expires = 0;
	char id[ID_MAX];

	if (args_number(&k->args, "expires", 1, EXPIRES_MAX_S, &expires, e) <
		0 ||
	    read_operands(k, id, &port, e) < 0)
		return -1;
	body = json_pack("{s:I}", "port", (json_int_t)port);
	if (name != NULL)
		json_object_set_new(body, "name", json_lossy(name));
	if (host != NULL)
		json_object_set_new(body, "host", json_lossy(host));
	if (expires > 0)
		json_object_set_new(body, "expiresInSeconds",
		    json_integer(expires));
	return session_call(k->client, "POST", id, "/ports", body, out, e);
}

int
cmd_ports_add(struct cli *k, struct err *e)
{
	auto_json json_t *port = NULL;

	return ports_expose(k, &port, e) < 0 ? -1 : ports_show(k, port);
}

int
cmd_ports_rm(struct cli *k, struct err *e)
{
	auto_free char *tail = NULL;
	int64_t port;
	char id[ID_MAX];

	if (read_operands(k, id, &port, e) < 0)
		return -1;
	tail = xasprintf("/ports/%d", (int)port);
	if (session_call(k->client, "DELETE", id, tail, NULL, NULL, e) < 0)
		return -1;
	if (k->json)
		printf("{\"port\":%d,\"removed\":true}\n", (int)port);
	return EXIT_SUCCESS;
}

int
cmd_ports_rotate(struct cli *k, struct err *e)
{
	auto_json json_t *out = NULL;
	auto_free char *tail = NULL;
	int64_t port;
	char id[ID_MAX];

	if (read_operands(k, id, &port, e) < 0)
		return -1;
	tail = xasprintf("/ports/%d/rotate", (int)port);
	if (session_call(k->client, "POST", id, tail, NULL, &out, e) < 0)
		return -1;
	return ports_show(k, out);
}
