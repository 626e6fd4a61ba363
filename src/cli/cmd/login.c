/* login.c: stores the service's URL and a key for it in the user's file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/cmd/commands.h"
#include "cli/config_file.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/token.h"

/* Takes the URL from the operand, else from the settings, else asks for it. */
static int
find_url(struct cli *k, struct config *c, struct err *e)
{
	struct config_choice choice = command_choice(&k->args);
	auto_buf struct buf line = { 0 };

	if (k->args.operands > 0)
		choice.url = k->args.operand[0];
	if (config_load_url(&choice, c, e) == 0)
		return 0;
	if (!str_empty(c->url) || c->profile == NULL || !ask_possible() ||
	    !ask_line("URL of the service: ", false, &line))
		return -1;
	free(c->url);
	c->url = xstrdup(line.data);
	config_trim_url(c->url);
	if (str_starts(c->url, "http://") || str_starts(c->url, "https://"))
		return 0;
	return err_set(e, ERR_INVALID, CODE_CONFIG,
	    "\"%.100s\" must begin with https:// or http://", c->url);
}

/* The key is never an argument: other users of this machine can see those. */
static int
find_key(struct cli *k, struct config *c, struct err *e)
{
	auto_buf struct buf line = { 0 };

	if (args_value(&k->args, "api-key-file") == NULL) {
		if (!ask_line("API key (is not shown): ", true, &line))
			return err_set(e, ERR_INVALID, CODE_CONFIG,
			    "there is no key on standard input");
		line.data[strcspn(line.data, " \t\r")] = '\0';
		free(c->key);
		c->key = xstrdup(line.data);
		token_wipe(line.data, line.len);
	}
	if (str_empty(c->key) || config_key_is_bad(c->key))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "this is not an API key");
	return 0;
}

/* Calls the service with the key: a key that it refuses is not stored. */
static int
try_key(const struct config *c, json_t **me, struct err *e)
{
	struct config copy = { .url = xstrdup(c->url),
		.key = xstrdup(c->key),
		.profile = xstrdup(c->profile) };
	struct client *client = client_new(&copy);
	int rc = client_call(client, "GET", "/v1/me", NULL, me, e);

	client_free(client);
	return rc;
}

int
cmd_login(struct cli *k, struct err *e)
{
	auto_json json_t *me = NULL;
	auto_free char *file = NULL;
	struct config c = { 0 };
	int rc = -1;

	if (find_url(k, &c, e) == 0 && find_key(k, &c, e) == 0 &&
	    try_key(&c, &me, e) == 0 &&
	    config_file_store(c.profile, c.url, c.key, &file, e) == 0)
		rc = EXIT_SUCCESS;
	if (rc == EXIT_SUCCESS && k->json)
		show_json(me);
	else if (rc == EXIT_SUCCESS)
		show_field("logged in",
		    "%s of %s, scope %s, at %s; profile %s in %s",
		    json_str(me, "user"), json_str(me, "org"),
		    json_str(me, "scope"), c.url, c.profile, file);
	config_free(&c);
	return rc;
}

int
cmd_logout(struct cli *k, struct err *e)
{
	struct config_choice choice = command_choice(&k->args);
	auto_free char *file = NULL;
	struct config c = { 0 };
	int rc;

	/* a missing or wrong URL is no reason not to remove the profile */
	(void)!config_load_url(&choice, &c, e);
	if (c.profile == NULL || !c.known) {
		rc = err_set(e, ERR_INVALID, CODE_CONFIG,
		    "there is no profile \"%.60s\"",
		    c.profile != NULL ? c.profile : "");
	} else {
		rc = config_file_store(c.profile, NULL, NULL, &file, e);
		if (rc == 0 && !k->json)
			printf("profile %s is no longer in %s\n", c.profile,
			    file);
	}
	config_free(&c);
	return rc;
}
