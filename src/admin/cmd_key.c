/* cmd_key.c: who may ask. */
#include <stdio.h>
#include <string.h>

#include "admin/admin.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "control/control.h"
#include "control/preview_control.h"
#include "control/session_control.h"

enum { KEY_ID_LEN = 10 };

static const char NAME_CHARS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-";

static int
check_name(const char *what, const char *s, struct err *e)
{
	if (!str_made_of(s, NAME_CHARS, 1, 128) || strstr(s, "__") != NULL)
		return err_set(e, ERR_INVALID, "usage",
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
		return err_set(e, ERR_INVALID, "usage",
		    "key create needs --user");
	if (admin_no_more(a, e) < 0 || check_name("--user", user, e) < 0 ||
	    (org != NULL && check_name("--org", org, e) < 0) ||
	    (bot != NULL && check_name("--bot", bot, e) < 0))
		return -1;
	if (scope == NULL)
		scope = "tenant";
	if (!str_equal(scope, "admin") && !str_equal(scope, "tenant") &&
	    !str_equal(scope, "read"))
		return err_set(e, ERR_INVALID, "usage",
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
	auto_rows struct rows *r = NULL;

	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_KEY_LIST, &r, e) < 0)
		return -1;
	printf("%-12s %-16s %-16s %-12s %-7s %-25s %s\n", "ID", "ORG", "USER",
	    "BOT", "SCOPE", "CREATED", "ENDS");
	for (size_t i = 0; i < rows_count(r); i++) {
		bool revoked = !rows_null(r, i, "revoked");

		printf("%-12s %-16s %-16s %-12s %-7s %-25s %s%s\n",
		    rows_text(r, i, "id"), rows_text(r, i, "org"),
		    rows_text(r, i, "user_id"), rows_text(r, i, "bot"),
		    rows_text(r, i, "scope"), rows_text(r, i, "created"),
		    revoked ? "revoked " : "",
		    rows_text(r, i, revoked ? "revoked" : "expires"));
	}
	return 0;
}

/* A revoked key stops at once, and so do connections it may have opened. */
static int
close_connections(struct admin *a, const char *key_id, struct err *e)
{
	auto_rows struct rows *ports = NULL, *sessions = NULL;
	struct control ctl;

	if (STORE_RUN(a->store, STMT_KEY_PORTS, &ports, e, key_id) < 0 ||
	    STORE_RUN(a->store, STMT_KEY_SESSIONS, &sessions, e, key_id) < 0)
		return -1;
	if (rows_count(ports) + rows_count(sessions) == 0)
		return 0;
	if (control_open(a->conf, a->store, &ctl, e) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(ports); i++)
		preview_bounce(&ctl, rows_text(ports, i, "session_id"),
		    rows_int(ports, i, "port"));
	for (size_t i = 0; i < rows_count(sessions); i++)
		session_control_ws_bounce(&ctl, rows_text(sessions, i, "id"));
	return 0;
}

int
cmd_key_revoke(struct admin *a, struct err *e)
{
	const char *id = admin_argument(a);
	auto_rows struct rows *r = NULL;

	if (id == NULL)
		return err_set(e, ERR_INVALID, "usage",
		    "key revoke needs the key's id; see key list");
	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_KEY_REVOKE, &r, e, id) < 0)
		return -1;
	if (rows_count(r) == 0)
		return err_set(e, ERR_NOT_FOUND, "not_found",
		    "there is no key %s; see key list", id);
	printf("key %s is revoked\n", id);
	return close_connections(a, id, e);
}
