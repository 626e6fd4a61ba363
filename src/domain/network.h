/*
 * network.h: decides which hosts and ports a session may connect to.
 *
 * A policy has a mode and a list.  NETWORK_NONE allows nothing, NETWORK_ALLOW
 * allows what its list names, NETWORK_OPEN allows every name and address;
 * which addresses count as public is src/common/address.h's question.
 *
 * An entry of the list is
 *
 *     api.example.com         that name, ports 80 and 443
 *     *.packages.example.org  every name below it, not the name itself
 *     git.example.com:22      only that port
 *     203.0.113.7:5432        an address, with or without a port
 *     [2001:db8::1]:443       the same for IPv6; brackets only before a port
 *     @npm                    a preset, which the operator's rows define
 *
 * Several policies apply to one session (its own, its class's): a connection
 * must be allowed by each of them.
 */
#ifndef SANDLEASE_DOMAIN_NETWORK_H
#define SANDLEASE_DOMAIN_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

enum {
	NETWORK_HOST_MAX = 254, /* a name of the DNS, and the NUL */
	NETWORK_ENTRY_MAX = 270,
	NETWORK_PRESET_MAX = 32,
	NETWORK_ALLOW_MAX = 100, /* entries of a policy, and of a preset */
	/* and of a policy whose presets are expanded */
	NETWORK_RULES_MAX = NETWORK_ALLOW_MAX * NETWORK_ALLOW_MAX,
	NETWORK_REQUESTS_MAX = 1000 * 1000 * 1000
};

enum network_mode {
	NETWORK_NONE,
	NETWORK_ALLOW,
	NETWORK_OPEN,
	NETWORK_MODE__MAX
};
extern const char *const NETWORK_MODE_NAMES[]; /* NULL at the end */

/* One entry that is no preset. */
struct network_rule {
	char host[NETWORK_HOST_MAX]; /* as network_host() writes it */
	bool below;                  /* "*.host": names below `host` */
	uint16_t port;               /* 0: 80 and 443 */
};

struct network_policy {
	enum network_mode mode;
	struct network_rule *rules; /* owned */
	size_t count;
	int64_t max_requests; /* 0: any number */
};

#define auto_policy __attribute__((cleanup(network_policy_free)))

/*
 * Writes a name or address in the one form that is compared: lower case, no dot
 * at the end, an address as inet_ntop() writes it.  False for anything that is
 * neither: an empty or long label, a character that names do not have, an
 * address with leading zeros or in hexadecimal.
 */
bool network_host(const char *text, size_t len, char out[NETWORK_HOST_MAX]);

/* True when `host`, in the form of network_host(), is an address. */
bool network_is_address(const char *host);

/* Parses an entry.  -1 and *why says what is wrong with it. */
int network_rule_parse(const char *entry, struct network_rule *out,
    const char **why) MUST_CHECK;

/* True for "@" and the name of a preset: a-z, 0-9 and "-". */
bool network_is_preset(const char *entry);

/*
 * Checks the object {"mode", "allow", "maxRequests"} of a body.  The error
 * names the member below `field`, such as "network.allow[2]".  `named` (may be
 * NULL) gets the same object with its defaults: the mode is "allow" where only
 * a list is given.  The caller owns it.
 */
int network_check(const json_t *body, const char *field, json_t **named,
    struct err *e) MUST_CHECK;

/*
 * Decodes a policy that network_check() has accepted, its presets expanded.
 * The caller owns *out.  An entry that cannot be parsed is an error: a rule
 * that is left out could be missing from a class's limit.
 */
int network_policy_decode(const json_t *body, struct network_policy *out,
    struct err *e) MUST_CHECK;
void network_policy_free(struct network_policy *p);

/* `host` is in the form of network_host(). */
bool network_allows(const struct network_policy *p, const char *host,
    uint16_t port);

/* The same for any port: whether the name may be resolved. */
bool network_allows_host(const struct network_policy *p, const char *host);

/*
 * The ports that a policy names, each once, in ascending order; at most `max`
 * are written.  Returns their number.
 */
size_t network_ports(const struct network_policy *p, uint16_t *ports,
    size_t max);

#endif
