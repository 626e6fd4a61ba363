/* network.c: fuzzes hosts and entries of a policy: each has one form. */
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"
#include "fuzz.h"

static void
check_host(const char *text, size_t len)
{
	char form[NETWORK_HOST_MAX], again[NETWORK_HOST_MAX];

	if (!network_host(text, len, form)) {
		PROMISE(form[0] == '\0');
		return;
	}
	PROMISE(network_host(form, strlen(form), again));
	PROMISE(strcmp(form, again) == 0);
	PROMISE(strspn(form, "abcdefghijklmnopqrstuvwxyz0123456789-_.:") ==
	    strlen(form));
	PROMISE(network_is_address(form) || strchr(form, ':') == NULL);
}

static void
check_rule(const char *text)
{
	struct network_rule r, again;
	struct network_policy p = { .mode = NETWORK_ALLOW,
		.rules = &r,
		.count = 1 };
	bool v6;
	char entry[NETWORK_ENTRY_MAX + 8];
	const char *why = NULL;

	if (network_rule_parse(text, &r, &why) < 0) {
		PROMISE(why != NULL);
		return;
	}
	PROMISE(!network_is_preset(text));
	/* the entry is written again, and means the same */
	v6 = strchr(r.host, ':') != NULL;
	snprintf(entry, sizeof(entry), "%s%s%s%s", r.below ? "*." : "",
	    v6 ? "[" : "", r.host, v6 ? "]" : "");
	if (r.port != 0)
		snprintf(entry + strlen(entry), 8, ":%d", r.port);
	PROMISE(network_rule_parse(entry, &again, &why) == 0);
	PROMISE(strcmp(r.host, again.host) == 0);
	PROMISE(r.below == again.below && r.port == again.port);
	/* the entry allows its host, or what is below it, and no other */
	PROMISE(network_allows_host(&p, r.host) == !r.below);
	PROMISE(
	    network_allows(&p, r.host, r.port != 0 ? r.port : 443) == !r.below);
	snprintf(entry, sizeof(entry), "x.%s", r.host);
	PROMISE(network_allows_host(&p, entry) == r.below);
	snprintf(entry, sizeof(entry), "evil%s", r.host);
	PROMISE(!network_allows_host(&p, entry));
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_buf struct buf text = { 0 };

	check_host((const char *)data, len);
	buf_add(&text, data, len);
	check_rule(text.data != NULL ? text.data : "");
	return 0;
}
