/* show.c: prints a session. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/each.h"
#include "cli/http/sessions.h"
#include "cli/network.h"
#include "cli/show.h"
#include "common/mem.h"

static int64_t
number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static bool
is_set(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

/* ---- limits */

static const struct {
	const char *key, *title, *unit;
	int64_t divide;
} LIMITS[] = { { "cpuMillis", "cpu", "", 1000 },
	{ "memoryMb", "memory", " MB", 1 }, { "diskMb", "disk", " MB", 1 },
	{ "pids", "processes", "", 1 } };

/* Appends limit i as "1.5" or "4096 MB"; "-": there is no limit. */
static void
limit_text(const json_t *session, size_t i, struct buf *out)
{
	const json_t *limit =
	    json_object_get(json_object_get(session, "limits"), LIMITS[i].key);
	int64_t value = number(limit, "value");

	if (value <= 0)
		buf_str(out, "-");
	else if (value % LIMITS[i].divide != 0)
		buf_fmt(out, "%.2f%s", (double)value / (double)LIMITS[i].divide,
		    LIMITS[i].unit);
	else
		buf_fmt(out, "%lld%s", (long long)(value / LIMITS[i].divide),
		    LIMITS[i].unit);
}

static void
show_limits(const json_t *session)
{
	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++) {
		const json_t *limit =
		    json_object_get(json_object_get(session, "limits"),
			LIMITS[i].key);
		auto_buf struct buf text = { 0 };

		limit_text(session, i, &text);
		show_field(LIMITS[i].title, "at most %s, held by %s", text.data,
		    json_str(limit, "by"));
	}
}

/* ---- show */

static void
show_alive(const json_t *session)
{
	const json_t *alive = json_object_get(session, "alive");
	auto_buf struct buf why = { 0 };
	const json_t *word;
	size_t i;

	buf_str(&why, "");
	json_array_foreach(json_object_get(alive, "because"), i, word)
	{
		buf_fmt(&why, "%s%s", i > 0 ? ", " : "",
		    json_string_value(word));
	}
	if (why.len > 0 || json_str(alive, "until")[0] != '\0')
		show_field("alive until", "%s%s%s%s",
		    json_str(alive, "until")[0] != '\0'
			? json_str(alive, "until")
			: "further notice",
		    why.len > 0 ? " (" : "", why.data, why.len > 0 ? ")" : "");
	if (is_set(session, "keepAlive"))
		show_field("sleeps", "never by itself");
	else
		show_field("sleeps", "after %lld idle seconds%s",
		    (long long)number(session, "sleepAfterSeconds"),
		    is_set(session, "suspend") ? ", and is frozen then" : "");
	if (number(session, "maxRunSeconds") > 0)
		show_field("runs", "at most %lld seconds",
		    (long long)number(session, "maxRunSeconds"));
}

static void
show_lists(const json_t *session)
{
	json_t *labels = json_object_get(session, "labels"), *value;
	const json_t *port;
	const char *key;
	size_t i;

	json_object_foreach(labels, key, value)
	{
		show_field("label", "%s=%s", key, json_string_value(value));
	}
	json_array_foreach(json_object_get(session, "correlationKeys"), i,
	    value)
	{
		show_field("key", "%s", json_string_value(value));
	}
	json_array_foreach(json_object_get(session, "ports"), i, port)
	{
		show_field("port", "%lld %s%s%s",
		    (long long)number(port, "port"), json_str(port, "name"),
		    json_str(port, "name")[0] != '\0' ? " " : "",
		    json_str(port, "url"));
	}
}

static void
show_setup(const json_t *session)
{
	const json_t *setup = json_object_get(session, "setup");

	if (json_str(setup, "state")[0] == '\0')
		return;
	show_field("setup", "%s", json_str(setup, "state"));
	if (!str_equal(json_str(setup, "state"), "done"))
		show_text(json_str(setup, "output"), stdout);
}

static void
show_session(const json_t *s)
{
	static const struct {
		const char *key, *title;
	} TEXTS[] = { { "snapshot", "snapshot" }, { "expiresAt", "deleted at" },
		{ "createdAt", "created" }, { "startedAt", "started" },
		{ "lastActivityAt", "last active" }, { "endedAt", "ended" } };
	const char *reason = json_str(s, "reason");

	show_field("id", "%s", json_str(s, "id"));
	if (json_str(s, "name")[0] != '\0')
		show_field("name", "%s", json_str(s, "name"));
	show_field("state", "%s%s%s%s", json_str(s, "state"),
	    is_set(s, "suspended")  ? ", suspended"
		: is_set(s, "busy") ? ", busy"
				    : "",
	    reason[0] != '\0' ? ": " : "", reason);
	show_field("class", "%s, %s", json_str(s, "class"),
	    str_equal(json_str(s, "isolation"), "session")
		? "a sandbox of its own"
		: "in the shared sandbox");
	show_limits(s);
	network_show(s);
	show_alive(s);
	for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++)
		if (json_str(s, TEXTS[i].key)[0] != '\0')
			show_field(TEXTS[i].title, "%s",
			    json_str(s, TEXTS[i].key));
	show_setup(s);
	show_lists(s);
}

static int
show_one(struct cli *k, const char *id, struct err *e)
{
	auto_json json_t *s = NULL;

	if (session_call(k->client, "GET", id, "", NULL, &s, e) < 0)
		return -1;
	if (k->json) {
		show_json(s);
		return 0;
	}
	show_session(s);
	if (k->args.operands > 1)
		putchar('\n');
	return 0;
}

int
cmd_show(struct cli *k, struct err *e)
{
	return each_session(k, show_one, e);
}
