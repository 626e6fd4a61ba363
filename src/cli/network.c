/* network.c: turns options about a session's network into members of a body. */
#include "cli/network.h"

#include <stdlib.h>
#include <string.h>

#include "cli/show.h"
#include "common/mem.h"
#include "common/str.h"

enum { REQUESTS_MAX = 1000 * 1000 * 1000 };

/* True for the command that changes a session, false for those that create. */
static bool
is_update(const struct args *a)
{
	return args_row(a->command, "no-secrets") != NULL;
}

static int
check_mode(const struct args *a, const char *mode, struct err *e)
{
	/* only a session that is there can go back to the default */
	bool update = is_update(a);

	if (str_equal(mode, "none") || str_equal(mode, "open") ||
	    (update && str_equal(mode, "default")))
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "--network takes none%s, not \"%.60s\"; --allow HOST allows one host",
	    update ? ", open or default" : " or open", mode);
}

/* Appends the hosts of "HOST,HOST"; the service refuses one that is empty. */
static void
add_hosts(json_t *list, const char *text)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		auto_free char *host = xasprintf("%.*s", (int)len, text);

		json_array_append_new(list, json_lossy(host));
		if (text[len] == '\0')
			return;
		text += len + 1;
	}
}

static json_t *
read_hosts(const struct args *a)
{
	json_t *list = json_array();
	const char *hosts;

	for (size_t i = 0; (hosts = args_nth(a, "allow", i)) != NULL; i++)
		add_hosts(list, hosts);
	return list;
}

static int
add_policy(const struct args *a, json_t *body, struct err *e)
{
	const char *mode = args_value(a, "network");
	auto_json json_t *allow = read_hosts(a);
	bool hosts = json_array_size(allow) > 0;
	int64_t requests = 0;
	json_t *policy;

	if (args_number(a, "max-requests", 1, REQUESTS_MAX, &requests, e) < 0 ||
	    (mode != NULL && check_mode(a, mode, e) < 0))
		return -1;
	if (hosts && mode != NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--allow and --network exclude each other");
	if (requests > 0 && !hosts &&
	    (mode == NULL || !str_equal(mode, "open")))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--max-requests needs --allow HOST or --network open%s",
		    is_update(a)
			? "; an update replaces the whole network: repeat --allow"
			: "");
	if (!hosts && mode == NULL)
		return 0;
	if (!hosts && str_equal(mode, "default")) {
		json_object_set_new(body, "network", json_null());
		return 0;
	}
	policy = json_pack("{s:s}", "mode", hosts ? "allow" : mode);
	if (hosts)
		json_object_set(policy, "allow", allow);
	if (requests > 0)
		json_object_set_new(policy, "maxRequests",
		    json_integer(requests));
	json_object_set_new(body, "network", policy);
	return 0;
}

/* Adds the secret of "HOST:HEADER=VARIABLE". */
static int
add_secret(json_t *list, const char *spec, struct err *e)
{
	auto_free char *host = xstrdup(spec);
	char *header = strchr(host, ':');
	char *variable = header != NULL ? strchr(header, '=') : NULL;
	const char *value;

	if (variable == NULL || header == host || variable == header + 1 ||
	    variable[1] == '\0')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--secret takes HOST:HEADER=VARIABLE, where VARIABLE is the name of an environment variable that has the value");
	*header++ = '\0';
	*variable++ = '\0';
	/* of "https://HOST:..." and "HOST:443:..." the header has such a one */
	if (strpbrk(header, ":/") != NULL || strchr(host, '/') != NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--secret takes HOST:HEADER=VARIABLE; HOST without scheme or port");
	value = getenv(variable);
	/* the word may be the value itself, typed by mistake: do not print it */
	if (str_empty(value))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--secret %.80s:%.60s: there is no such variable in the environment, or it is empty; give the name of a variable, not the value",
		    host, header);
	if (json_array_append_new(list,
		json_pack("{s:s, s:s, s:s}", "host", host, "header", header,
		    "value", value)) < 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--secret: only UTF-8 can be sent");
	return 0;
}

static int
add_secrets(const struct args *a, json_t *body, struct err *e)
{
	bool none = args_has(a, "no-secrets");
	auto_json json_t *list = json_array();
	const char *spec;

	for (size_t i = 0; (spec = args_nth(a, "secret", i)) != NULL; i++)
		if (add_secret(list, spec, e) < 0)
			return -1;
	if (none && json_array_size(list) > 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--secret and --no-secrets exclude each other");
	if (none || json_array_size(list) > 0)
		json_object_set(body, "secrets", list);
	return 0;
}

int
network_add(const struct args *a, json_t *body, struct err *e)
{
	return add_policy(a, body, e) < 0 ? -1 : add_secrets(a, body, e);
}

/* ---- show */

static int64_t
number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/*
 * True if a session that runs has a policy, and sandlease-egress does not serve
 * it.  A service of another release has no member "ports".
 */
static bool
is_unserved(const json_t *session, const json_t *n)
{
	return str_equal(json_str(session, "state"), "ready") &&
	    !str_equal(json_str(n, "mode"), "none") &&
	    json_is_null(json_object_get(n, "ports"));
}

static void
show_use(const json_t *n)
{
	if (number(n, "connections") == 0 && number(n, "denied") == 0)
		return;
	show_field("traffic",
	    "%lld connections, %lld requests, %lld bytes in, %lld bytes out, %lld denied",
	    (long long)number(n, "connections"),
	    (long long)number(n, "requests"), (long long)number(n, "bytesIn"),
	    (long long)number(n, "bytesOut"), (long long)number(n, "denied"));
}

void
network_show(const json_t *session)
{
	const json_t *n = json_object_get(session, "network"), *v;
	const char *mode = json_str(n, "mode");
	auto_buf struct buf text = { 0 };
	size_t i;

	if (mode[0] == '\0')
		return; /* a service of another release */
	buf_str(&text, mode);
	json_array_foreach(json_object_get(n, "allow"), i, v)
	{
		buf_fmt(&text, "%s%s", i > 0 ? ", " : " ",
		    json_string_value(v));
	}
	if (number(n, "maxRequests") > 0)
		buf_fmt(&text, ", at most %lld requests",
		    (long long)number(n, "maxRequests"));
	if (json_str(n, "limitedBy")[0] != '\0')
		buf_fmt(&text, ", limited by its %s", json_str(n, "limitedBy"));
	if (is_unserved(session, n))
		buf_str(&text, " (not served now)");
	show_field("network", "%s", text.data);
	show_use(n);
	json_array_foreach(json_object_get(session, "secrets"), i, v)
	{
		show_field("secret", "%s for %s", json_str(v, "header"),
		    json_str(v, "host"));
	}
}
