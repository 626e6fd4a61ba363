/* network.c: parses policies and compares hosts and ports with them. */
#include "domain/network.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"

enum { LABEL_MAX = 63, ADDRESS_MAX = INET6_ADDRSTRLEN };

/* The ports of an entry that names none. */
static const uint16_t DEFAULT_PORTS[] = { 80, 443 };

const char *const NETWORK_MODE_NAMES[] = { [NETWORK_NONE] = "none",
	[NETWORK_ALLOW] = "allow",
	[NETWORK_OPEN] = "open",
	[NETWORK_MODE__MAX] = NULL };

/* ---- names and addresses */

/* Writes an address as inet_ntop() does, so that each has one form. */
static bool
copy_address(const char *text, char out[NETWORK_HOST_MAX])
{
	struct in6_addr a;
	int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;

	return inet_pton(family, text, &a) == 1 &&
	    inet_ntop(family, &a, out, ADDRESS_MAX) != NULL;
}

static bool
is_name(const char *s)
{
	size_t label = 0;

	for (; *s != '\0'; s++) {
		if (*s == '.') {
			if (label == 0 || s[-1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!isalnum((unsigned char)*s) && *s != '_' &&
		    (*s != '-' || label == 0))
			return false;
		if (++label > LABEL_MAX)
			return false;
	}
	return label > 0 && s[-1] != '-';
}

/*
 * A last label of digits, or of 0x and digits, makes it an address for some
 * programs and a name for others ("127.1", "0x7f000001"): neither is accepted.
 */
static bool
ends_like_address(const char *name)
{
	const char *last = strrchr(name, '.');

	last = last != NULL ? last + 1 : name;
	if (last[0] == '0' && last[1] == 'x')
		return true;
	return last[strspn(last, "0123456789")] == '\0';
}

bool
network_host(const char *text, size_t len, char out[NETWORK_HOST_MAX])
{
	out[0] = '\0';
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len >= NETWORK_HOST_MAX || memchr(text, 0, len) != NULL)
		return false;
	for (size_t i = 0; i < len; i++)
		out[i] = (char)tolower((unsigned char)text[i]);
	out[len] = '\0';
	if (copy_address(out, out))
		return true;
	if (is_name(out) && !ends_like_address(out))
		return true;
	out[0] = '\0';
	return false;
}

bool
network_is_address(const char *host)
{
	struct in6_addr a;

	return inet_pton(strchr(host, ':') != NULL ? AF_INET6 : AF_INET, host,
		   &a) == 1;
}

/* ---- entries */

bool
network_is_preset(const char *entry)
{
	return entry[0] == '@' &&
	    str_made_of(entry + 1, "abcdefghijklmnopqrstuvwxyz0123456789-", 1,
		NETWORK_PRESET_MAX - 1);
}

/*
 * Finds where the host ends and the port begins.  "::1" is an address without a
 * port: one with a port has brackets.
 */
static bool
split_port(const char *entry, const char **host, size_t *len, const char **port)
{
	const char *colon = strrchr(entry, ':');

	*host = entry;
	*port = NULL;
	if (entry[0] == '[') {
		const char *end = strchr(entry, ']');

		if (end == NULL || (end[1] != ':' && end[1] != '\0'))
			return false;
		*host = entry + 1;
		*len = (size_t)(end - *host);
		*port = end[1] == ':' ? end + 2 : NULL;
		/* brackets are for IPv6 alone */
		return memchr(*host, ':', *len) != NULL;
	}
	if (colon != NULL && strchr(entry, ':') == colon) {
		*len = (size_t)(colon - entry);
		*port = colon + 1;
		return true;
	}
	*len = strlen(entry);
	return true;
}

/* ---- mistakes that people make */

static bool
is_bad_preset(const char *entry)
{
	return entry[0] == '@';
}

static bool
is_list(const char *entry)
{
	return strchr(entry, ',') != NULL;
}

static bool
is_range(const char *entry)
{
	size_t len = strcspn(entry, "/");
	char host[NETWORK_HOST_MAX];

	return entry[len] == '/' && network_host(entry, len, host) &&
	    network_is_address(host);
}

static bool
is_url(const char *entry)
{
	return strpbrk(entry, "/@?#") != NULL;
}

/* clang-format off */
static const struct {
	bool (*is)(const char *entry);
	const char *why;
} MISTAKES[] = {
	{ is_bad_preset, "cannot be used here, or is not the name of a preset: those are in small letters, as @npm" },
	{ is_list, "is a list; each host is an entry of its own" },
	{ is_range, "is a range; list addresses one by one" },
	{ is_url, "is not a host; write only the name, without scheme, user or path" },
};
/* clang-format on */

int
network_rule_parse(const char *entry, struct network_rule *out,
    const char **why)
{
	const char *host, *port;
	int64_t number = 0;
	size_t len;

	*out = (struct network_rule){ .port = 0 };
	*why =
	    "is not a host; write it as api.example.com, *.example.com or git.example.com:22";
	for (size_t i = 0; i < ARRAY_LEN(MISTAKES); i++)
		if (MISTAKES[i].is(entry)) {
			*why = MISTAKES[i].why;
			return -1;
		}
	for (const char *s = entry; *s != '\0'; s++)
		if ((unsigned char)*s > 0x7e) {
			*why = "is not ASCII; write the name as xn--...";
			return -1;
		}
	if (!split_port(entry, &host, &len, &port))
		return -1;
	if (port != NULL && !str_to_int(port, 1, UINT16_MAX, &number)) {
		*why = "has a port that is not a number from 1 to 65535";
		return -1;
	}
	out->port = (uint16_t)number;
	if (len == 1 && host[0] == '*') {
		*why = "is every host; say mode: open for that";
		return -1;
	}
	if (len > 2 && strncmp(host, "*.", 2) == 0) {
		out->below = true;
		host += 2;
		len -= 2;
	}
	if (!network_host(host, len, out->host) ||
	    (out->below && network_is_address(out->host)))
		return -1;
	return 0;
}

/* ---- bodies */

struct body {
	int mode;
	const json_t *allow;
	int64_t max_requests;
};

static const struct jfield FIELDS[] = {
	JFIELD_ENUM("mode", struct body, mode, 0, NETWORK_MODE_NAMES,
	    "none, allow or open"),
	JFIELD("allow", struct body, allow, J_ARR, J_OF_STRINGS, 0,
	    NETWORK_RULES_MAX, "hosts, *.hosts and @presets"),
	JFIELD("maxRequests", struct body, max_requests, J_INT, 0, 1,
	    NETWORK_REQUESTS_MAX, "requests it may make in all"),
};

static int
read_body(const json_t *body, struct body *b, struct err *e)
{
	*b = (struct body){ .mode = -1 };
	if (!json_is_object(body))
		return err_field(e, "", "must be an object");
	if (jfield_decode(body, FIELDS, ARRAY_LEN(FIELDS), 0, b, e) < 0)
		return -1;
	if (b->mode < 0)
		b->mode = b->allow != NULL ? NETWORK_ALLOW : NETWORK_NONE;
	return 0;
}

static int
check_entry(const json_t *v, size_t i, struct err *e)
{
	const char *entry = json_string_value(v), *why;
	char field[ERR_FIELD_MAX];
	struct network_rule rule;

	snprintf(field, sizeof(field), "allow[%zu]", i);
	if (entry == NULL || strlen(entry) != json_string_length(v))
		return err_field(e, field, "must be a string");
	if (strlen(entry) >= NETWORK_ENTRY_MAX)
		return err_field(e, field, "is longer than %d bytes",
		    NETWORK_ENTRY_MAX - 1);
	if (network_is_preset(entry))
		return 0;
	if (network_rule_parse(entry, &rule, &why) < 0)
		return err_field(e, field, "\"%.80s\" %s", entry, why);
	return 0;
}

int
network_check(const json_t *body, const char *field, json_t **named,
    struct err *e)
{
	struct body b;
	size_t i;
	json_t *v;

	if (read_body(body, &b, e) < 0)
		return err_below(e, field);
	if (json_object_get(body, "mode") == NULL && b.allow == NULL) {
		err_field(e, "mode",
		    "is missing; give a mode (none, allow or open) or a list, allow");
		return err_below(e, field);
	}
	if (b.mode == NETWORK_ALLOW && b.allow == NULL) {
		err_field(e, "allow", "is missing; mode: allow needs a list");
		return err_below(e, field);
	}
	if (json_array_size(b.allow) > NETWORK_ALLOW_MAX) {
		err_field(e, "allow", "may have at most %d entries",
		    NETWORK_ALLOW_MAX);
		return err_below(e, field);
	}
	if (b.mode != NETWORK_ALLOW && json_array_size(b.allow) > 0) {
		err_field(e, "allow", "belongs to mode: allow, not to %s",
		    NETWORK_MODE_NAMES[b.mode]);
		return err_below(e, field);
	}
	json_array_foreach(b.allow, i, v)
	{
		if (check_entry(v, i, e) < 0)
			return err_below(e, field);
	}
	if (named == NULL)
		return 0;
	*named = json_pack("{s:s}", "mode", NETWORK_MODE_NAMES[b.mode]);
	if (b.mode == NETWORK_ALLOW)
		json_object_set_new(*named, "allow", json_deep_copy(b.allow));
	if (b.max_requests > 0)
		json_object_set_new(*named, "maxRequests",
		    json_integer(b.max_requests));
	return 0;
}

int
network_policy_decode(const json_t *body, struct network_policy *out,
    struct err *e)
{
	auto_policy struct network_policy p = { 0 };
	struct body b;
	size_t i;
	json_t *v;

	*out = (struct network_policy){ 0 };
	if (read_body(body, &b, e) < 0)
		return -1;
	p.mode = (enum network_mode)b.mode;
	p.max_requests = b.max_requests;
	p.rules = xcalloc(json_array_size(b.allow) + 1, sizeof(*p.rules));
	json_array_foreach(b.allow, i, v)
	{
		const char *entry = json_string_value(v), *why;

		if (entry == NULL ||
		    network_rule_parse(entry, &p.rules[p.count], &why) < 0)
			return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
			    "entry %zu of a network policy cannot be parsed",
			    i);
		p.count++;
	}
	*out = p;
	p = (struct network_policy){ 0 };
	return 0;
}

void
network_policy_free(struct network_policy *p)
{
	free(p->rules);
	*p = (struct network_policy){ 0 };
}

/* ---- decisions */

static bool
names_host(const struct network_rule *r, const char *host)
{
	size_t len = strlen(host), below = strlen(r->host);

	if (!r->below)
		return str_equal(r->host, host);
	return len > below + 1 && host[len - below - 1] == '.' &&
	    str_equal(host + len - below, r->host) && !network_is_address(host);
}

static bool
names_port(const struct network_rule *r, uint16_t port)
{
	if (r->port != 0)
		return r->port == port;
	for (size_t i = 0; i < ARRAY_LEN(DEFAULT_PORTS); i++)
		if (DEFAULT_PORTS[i] == port)
			return true;
	return false;
}

static bool
find_rule(const struct network_policy *p, const char *host, bool any_port,
    uint16_t port)
{
	if (p->mode != NETWORK_ALLOW)
		return p->mode == NETWORK_OPEN;
	for (size_t i = 0; i < p->count; i++)
		if (names_host(&p->rules[i], host) &&
		    (any_port || names_port(&p->rules[i], port)))
			return true;
	return false;
}

bool
network_allows(const struct network_policy *p, const char *host, uint16_t port)
{
	return find_rule(p, host, false, port);
}

bool
network_allows_host(const struct network_policy *p, const char *host)
{
	return find_rule(p, host, true, 0);
}

static size_t
add_port(uint16_t *ports, size_t count, size_t max, uint16_t port)
{
	size_t at = 0;

	while (at < count && ports[at] < port)
		at++;
	if (count == max || (at < count && ports[at] == port))
		return count;
	memmove(ports + at + 1, ports + at, (count - at) * sizeof(*ports));
	ports[at] = port;
	return count + 1;
}

size_t
network_ports(const struct network_policy *p, uint16_t *ports, size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (p->rules[i].port != 0) {
			count = add_port(ports, count, max, p->rules[i].port);
			continue;
		}
		for (size_t k = 0; k < ARRAY_LEN(DEFAULT_PORTS); k++)
			count = add_port(ports, count, max, DEFAULT_PORTS[k]);
	}
	return count;
}
