/* usage.c: prints the org's quotas, the owner of the key, and versions. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cmd/commands.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/table.h"

static void
add_quota(struct table *t, const char *name, const json_t *quota)
{
	const json_t *limit = json_object_get(quota, "limit");
	int64_t used = json_integer_value(json_object_get(quota, "used"));
	int64_t most = json_integer_value(limit);
	char a[24], b[24] = "no limit", c[24] = "-";

	snprintf(a, sizeof(a), "%lld", (long long)used);
	if (json_is_integer(limit)) {
		snprintf(b, sizeof(b), "%lld", (long long)most);
		snprintf(c, sizeof(c), "%lld",
		    (long long)(most > used ? most - used : 0));
	}
	table_add(t, (const char *const[]){ name, a, b, c });
}

int
cmd_usage(struct cli *k, struct err *e)
{
	static const char *const TITLES[] = { "QUOTA", "USED", "LIMIT",
		"LEFT" };
	struct table t = { TITLES, ARRAY_LEN(TITLES), 0 };
	auto_json json_t *answer = NULL;
	const char *name;
	json_t *v;

	if (client_call(k->client, "GET", "/v1/usage", NULL, &answer, e) < 0)
		return -1;
	if (k->json) {
		show_json(answer);
		return EXIT_SUCCESS;
	}
	json_object_foreach(json_object_get(answer, "quotas"), name, v)
	{
		add_quota(&t, name, v);
	}
	table_end(&t);
	fputs("\nsessions:", stdout);
	json_object_foreach(json_object_get(answer, "states"), name, v)
	{
		printf(" %s %lld", name, (long long)json_integer_value(v));
	}
	putchar('\n');
	return EXIT_SUCCESS;
}

int
cmd_whoami(struct cli *k, struct err *e)
{
	static const char *const KEYS[] = { "user", "bot", "org", "scope",
		"keyId" };
	auto_json json_t *me = NULL;

	if (client_call(k->client, "GET", "/v1/me", NULL, &me, e) < 0)
		return -1;
	json_object_set_new(me, "url", json_lossy(client_url(k->client)));
	json_object_set_new(me, "profile",
	    json_lossy(client_profile(k->client)));
	if (k->json) {
		show_json(me);
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < ARRAY_LEN(KEYS); i++)
		if (json_str(me, KEYS[i])[0] != '\0')
			show_field(KEYS[i], "%s", json_str(me, KEYS[i]));
	show_field("url", "%s", client_url(k->client));
	show_field("profile", "%s", client_profile(k->client));
	return EXIT_SUCCESS;
}

/* Prints the service's version, too, if its URL is known; /v1/health needs no
 * key. */
int
cmd_version(struct cli *k, struct err *e)
{
	struct config_choice choice = command_choice(&k->args);
	auto_json json_t *health = NULL, *both = NULL;
	struct config config;
	int rc;

	if (config_load_url(&choice, &config, e) < 0) {
		config_free(&config);
		rc = args_value(&k->args, "url") != NULL ||
			args_value(&k->args, "profile") != NULL
		    ? -1
		    : 0;
	} else {
		k->client = client_new(&config);
		rc = client_call(k->client, "GET", "/v1/health", NULL, &health,
		    e);
	}
	both = json_pack("{s:s}", "client", PACKAGE_VERSION);
	if (health != NULL)
		json_object_set_new(both, "server",
		    json_lossy(json_str(health, "version")));
	if (k->json) {
		show_json(both);
	} else {
		show_field("client", "%s", PACKAGE_VERSION);
		if (health != NULL)
			show_field("server", "%s, %s at %s",
			    json_str(health, "version"),
			    json_str(health, "status"), client_url(k->client));
	}
	client_free(k->client);
	return rc;
}
