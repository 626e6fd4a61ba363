/* cmd_key.c: creates, lists and revokes API keys. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "admin/commands.h"
#include "admin/list.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "control/control.h"
#include "control/relay_control.h"
#include "control/session_control.h"

/* ADMITTED_S: nginx connects to a wrapper within this time after admission */
enum { KEY_ID_LEN = 10, ADMITTED_S = 1 };

static const char NAME_CHARS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";

static int
check_name(const char *what, const char *s, struct err *e)
{
	if (!str_made_of(s, NAME_CHARS, 1, 128) || strstr(s, "__") != NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s %s: letters, digits and ._@- only, no double underscore",
		    what, s);
	return 0;
}

int
cmd_key_create(struct admin *a, struct err *e)
{
	const char *org = admin_option(a, "--org");
	const char *user = admin_option(a, "--user");
	const char *bot = admin_option(a, "--bot");
	const char *scope = admin_option(a, "--scope");
	const char *expires = admin_option(a, "--expires");
	char id[KEY_ID_LEN + 1], key[TOKEN_KEY_LEN + 1];
	char hash[TOKEN_HASH_HEX_MAX];

	if (user == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "key create needs --user");
	if (admin_no_more(a, e) < 0 || check_name("--user", user, e) < 0 ||
	    (org != NULL && check_name("--org", org, e) < 0) ||
	    (bot != NULL && check_name("--bot", bot, e) < 0))
		return -1;
	if (scope == NULL)
		scope = "tenant";
	if (!str_equal(scope, "admin") && !str_equal(scope, "tenant") &&
	    !str_equal(scope, "read"))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--scope must be admin, tenant or read");
	id_random(id, KEY_ID_LEN);
	token_make_key(key);
	token_hash(key, hash);
	if (STORE_RUN(a->store, STMT_KEY_CREATE, NULL, e, id,
		org != NULL ? org : "", user, bot != NULL ? bot : "", scope,
		hash, expires) < 0)
		return expires != NULL && e->kind == ERR_INVALID
		    ? err_wrap(e, "--expires")
		    : -1;
	printf("%s\n", key);
	fprintf(stderr, "key %s: shown this once, kept only as a hash\n", id);
	return 0;
}

int
cmd_key_list(struct admin *a, struct err *e)
{
	static const struct column COLUMNS[] = {
		{ "ID", "id" },
		{ "ORG", "org" },
		{ "USER", "user" },
		{ "BOT", "bot" },
		{ "SCOPE", "scope" },
		{ "CREATED", "createdAt" },
		{ "ENDS", "ends" },
	};
	const struct listing l = { .stmt = STMT_KEY_LIST,
		.filters = { admin_option(a, "--org") },
		.filter_count = 1,
		.columns = COLUMNS,
		.column_count = ARRAY_LEN(COLUMNS) };

	return admin_no_more(a, e) < 0 ? -1 : list_print(a, &l, e);
}

/* A failure is only logged: the row stays, and the reaper tries again. */
static void
log_failure(int rc, const struct err *e)
{
	if (rc < 0)
		log_err(LOG_WARN, "revoke_goes_on", e);
}

/*
 * Makes every wrapper of the tenant on this host cut the connections to its
 * ports, and its WebSockets.  With `last`, also notes in the rows that it was
 * done.  Returns how many rows there are.
 */
static int64_t
cut_all(struct admin *a, struct control *ctl, const char *tenant, bool last,
    struct err *e)
{
	auto_rows struct rows *ports = NULL, *sessions = NULL;

	if (STORE_RUN(a->store, STMT_TENANT_RELAYS, &ports, e, tenant) < 0 ||
	    STORE_RUN(a->store, STMT_TENANT_BOUNCES, &sessions, e, tenant) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(ports); i++) {
		struct err why = { 0 };

		if (last)
			log_failure(relay_settle_row(ctl, ports, i, &why),
			    &why);
		else
			relay_cut(ctl, ports, i);
	}
	for (size_t i = 0; i < rows_count(sessions); i++) {
		const char *id = rows_text(sessions, i, "id");
		struct err why = { 0 };

		if (last)
			log_failure(session_control_bounced(ctl, id,
					rows_text(sessions, i, "bounce_at"),
					&why),
			    &why);
		else
			log_failure(session_control_ws_bounce(ctl, id, &why),
			    &why);
	}
	return (int64_t)(rows_count(ports) + rows_count(sessions));
}

/*
 * Cuts the connections that a revoked key may have opened.  A request that was
 * admitted just before may connect just after the cut.  So all connections are
 * cut twice, ADMITTED_S apart.
 */
static int
close_connections(struct admin *a, const char *tenant, struct err *e)
{
	struct control ctl;
	int64_t count;

	if (control_open(a->conf, a->store, &ctl, e) < 0)
		return -1;
	count = cut_all(a, &ctl, tenant, false, e);
	if (count <= 0)
		return (int)count;
	sleep(ADMITTED_S);
	if (STORE_RUN(a->store, STMT_TENANT_CUT, NULL, e, tenant) < 0)
		return -1;
	return cut_all(a, &ctl, tenant, true, e) < 0 ? -1 : 0;
}

int
cmd_key_revoke(struct admin *a, struct err *e)
{
	const char *id = admin_argument(a);
	auto_rows struct rows *r = NULL;

	if (id == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "key revoke needs the key's id; see key list");
	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_KEY_REVOKE, &r, e, id) < 0)
		return -1;
	if (rows_null(r, 0, "tenant"))
		return err_set(e, ERR_NOT_FOUND, CODE_NOT_FOUND,
		    "there is no key %s; see key list", id);
	CRASH_POINT("revoke.intent");
	printf("key %s is revoked\n", id);
	return close_connections(a, rows_text(r, 0, "tenant"), e);
}
