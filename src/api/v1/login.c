/* login.c: exchanges a key for the dashboard's cookie, and ends the cookie. */
#include <stdio.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "api/gate/audit.h"
#include "api/v1/handlers.h"
#include "common/mem.h"

enum { LOGIN_SECONDS = 12 * 3600, LOGIN_BODY_MAX = 4096 };

struct login_body {
	char key[TOKEN_KEY_MAX];
};

/* clang-format off */
const struct jfield LOGIN_FIELDS[] = {
	JFIELD("key", struct login_body, key, J_STR, J_REQUIRED, 1, TOKEN_KEY_MAX - 1, "an API key"),
};
/* clang-format on */
const size_t LOGIN_FIELD_COUNT = ARRAY_LEN(LOGIN_FIELDS);

/* SameSite=Strict, HttpOnly; over TLS also Secure, which __Host- demands. */
static void
set_cookie(struct call *c, const char *value, int seconds)
{
	bool tls = str_equal(call_param(c, "SL_SCHEME"), "https");
	auto_free char *text =
	    xasprintf("%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s",
		access_cookie_name(c), value, seconds, tls ? "; Secure" : "");

	call_header(c, "Set-Cookie", text);
	call_header(c, "Cache-Control", "no-store");
}

int
v1_login(struct call *c, struct err *e)
{
	struct app *app = app_of(c);
	auto_json json_t *json = NULL;
	auto_rows struct rows *r = NULL;
	struct login_body b = { 0 };
	struct credential k = { .given = true };
	char hash[TOKEN_HASH_HEX_MAX], token[TOKEN_PREVIEW_LEN + 1], life[16];

	if (access_same_origin(c, e) < 0 ||
	    call_json(c, LOGIN_BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, LOGIN_FIELDS, LOGIN_FIELD_COUNT, 0, &b, e) < 0)
		return -1;
	token_hash(b.key, k.hash);
	if (STORE_RUN(app->store, STMT_AUTH_KEY, &r, e, k.hash,
		CREDENTIAL_NAMES[CREDENTIAL_KEY], c->request_id) < 0)
		return -1;
	if (rows_count(r) == 0) {
		audit_key(c, &k);
		return err_set(e, ERR_UNAUTHENTICATED, CODE_UNAUTHORIZED,
		    "this key is not valid");
	}
	token_make(token);
	token_hash(token, hash);
	snprintf(life, sizeof(life), "%d", LOGIN_SECONDS);
	if (STORE_RUN(app->store, STMT_LOGIN_CREATE, NULL, e, hash,
		rows_text(r, 0, "id"), life) < 0)
		return -1;
	set_cookie(c, token, LOGIN_SECONDS);
	call_reply_empty(c, 204);
	return 0;
}

int
v1_logout(struct call *c, struct err *e)
{
	struct credential k;

	if (access_same_origin(c, e) < 0 || access_credential(c, &k, e) < 0)
		return -1;
	if (k.given && k.kind == CREDENTIAL_LOGIN &&
	    STORE_RUN(app_of(c)->store, STMT_LOGIN_DELETE, NULL, e, k.hash) < 0)
		return -1;
	set_cookie(c, "", 0);
	call_reply_empty(c, 204);
	return 0;
}

int
v1_me(struct call *c, struct err *e)
{
	const struct principal *p = &app_of(c)->who;
	auto_json json_t *me =
	    json_pack("{s:s, s:s, s:s, s:s, s:s}", "org", p->org, "user",
		p->user, "bot", p->bot, "scope", p->scope, "keyId", p->key_id);

	(void)e;
	call_reply(c, 200, me);
	return 0;
}
