/* access.c: authenticates a call by its API key or the dashboard's cookie. */
#include "api/gate/access.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/gate/audit.h"

const char *const ACCESS_NAMES[] = {
	[ACCESS_NONE] = "none",
	[ACCESS_READ] = "read",
	[ACCESS_TENANT] = "tenant",
	[ACCESS_ADMIN] = "admin",
};

const char *const CREDENTIAL_NAMES[] = {
	[CREDENTIAL_KEY] = "key",
	[CREDENTIAL_LOGIN] = "login",
	[CREDENTIAL_TICKET] = "ticket",
};

int
access_refused(struct err *e)
{
	return err_set(e, ERR_UNAUTHENTICATED, CODE_UNAUTHORIZED,
	    "a valid API key is needed: Authorization: Bearer KEY, or X-API-Key");
}

/* The service must not guess which of two keys the client means. */
static int
refuse_two_keys(struct err *e)
{
	return err_set(e, ERR_UNAUTHENTICATED, CODE_UNAUTHORIZED,
	    "the API key was given more than once: send either Authorization or X-API-Key, and only once");
}

/* The key after "Bearer " (any case); NULL: another scheme. */
static const char *
read_bearer(const char *header)
{
	static const char SCHEME[] = "Bearer ";

	if (strncasecmp(header, SCHEME, sizeof(SCHEME) - 1) != 0)
		return NULL;
	header += sizeof(SCHEME) - 1;
	return header + strspn(header, " ");
}

const char *
access_cookie_name(const struct call *c)
{
	return str_equal(call_param(c, "SL_SCHEME"), "https")
	    ? "__Host-sandlease"
	    : "sandlease";
}

/* Copies the value of the dashboard's cookie to `out`; false: there is none. */
static bool
read_cookie(const struct call *c, char *out, size_t size)
{
	const char *name = access_cookie_name(c);
	const char *s = call_param(c, "HTTP_COOKIE");
	size_t want = strlen(name);

	while (*s != '\0') {
		size_t len;

		s += strspn(s, "; ");
		len = strcspn(s, ";");
		if (len > want && s[want] == '=' &&
		    strncmp(s, name, want) == 0 && len - want - 1 < size) {
			memcpy(out, s + want + 1, len - want - 1);
			out[len - want - 1] = '\0';
			return true;
		}
		s += len;
	}
	return false;
}

int
access_credential(const struct call *c, struct credential *out, struct err *e)
{
	const char *bearer = call_param(c, "HTTP_AUTHORIZATION");
	const char *key = call_param(c, "HTTP_X_API_KEY");
	char cookie[TOKEN_KEY_MAX];

	*out = (struct credential){ 0 };
	/* at proxy/{port} nginx names the header that belongs to the app: the
	 * other one holds the API key */
	if (str_equal(call_param(c, "SL_APPS_HEADER"), "authorization"))
		bearer = "";
	else if (str_equal(call_param(c, "SL_APPS_HEADER"), "x-api-key"))
		key = "";
	if ((bearer[0] != '\0' && key[0] != '\0') ||
	    call_repeated(c, "HTTP_AUTHORIZATION") ||
	    call_repeated(c, "HTTP_X_API_KEY"))
		return refuse_two_keys(e);
	if (bearer[0] != '\0') {
		key = read_bearer(bearer);
		if (key == NULL)
			return access_refused(e);
	}
	if (key[0] == '\0') {
		if (!read_cookie(c, cookie, sizeof(cookie)))
			return 0;
		out->kind = CREDENTIAL_LOGIN;
		key = cookie;
	}
	if (strlen(key) >= TOKEN_KEY_MAX)
		return access_refused(e);
	out->given = true;
	token_hash(key, out->hash);
	return 0;
}

enum access_level
access_scope_parse(const char *scope)
{
	enum access_level has = ACCESS_NONE;

	for (enum access_level a = ACCESS_READ; a <= ACCESS_ADMIN; a++)
		if (str_equal(ACCESS_NAMES[a], scope))
			has = a;
	return has;
}

bool
access_scope_allows(const char *scope, enum access_level needed)
{
	return access_scope_parse(scope) >= needed;
}

static int
refuse_origin(struct err *e)
{
	return err_set(e, ERR_DENIED, CODE_ORIGIN_MISMATCH,
	    "a call with the dashboard's cookie must come from the dashboard");
}

int
access_same_origin(const struct call *c, struct err *e)
{
	const char *origin = call_param(c, "HTTP_ORIGIN");
	char ours[CONF_STR_MAX];

	snprintf(ours, sizeof(ours), "%s://%s", call_param(c, "SL_SCHEME"),
	    call_param(c, "SL_HOST"));
	if (origin[0] != '\0' && str_equal(origin, ours))
		return 0;
	return refuse_origin(e);
}

int
access_own_script(const struct call *c, struct err *e)
{
	if (str_equal(call_param(c, "HTTP_SEC_FETCH_SITE"), "same-origin") &&
	    str_equal(call_param(c, "HTTP_SEC_FETCH_DEST"), "empty"))
		return 0;
	return refuse_origin(e);
}

static bool
mutates(const struct call *c)
{
	return !str_equal(c->method, "GET") && !str_equal(c->method, "HEAD");
}

static void
copy_principal(const struct rows *r, struct principal *p)
{
	str_copy(p->key_id, sizeof(p->key_id), rows_text(r, 0, "id"));
	str_copy(p->tenant, sizeof(p->tenant), rows_text(r, 0, "tenant"));
	str_copy(p->org, sizeof(p->org), rows_text(r, 0, "org"));
	str_copy(p->user, sizeof(p->user), rows_text(r, 0, "user_id"));
	str_copy(p->bot, sizeof(p->bot), rows_text(r, 0, "bot"));
	str_copy(p->scope, sizeof(p->scope), rows_text(r, 0, "scope"));
	str_copy(p->isolation, sizeof(p->isolation),
	    rows_text(r, 0, "isolation"));
	str_copy(p->salt, sizeof(p->salt), rows_text(r, 0, "salt"));
}

int
access_check(struct call *c, enum access_level needed, struct err *e)
{
	struct credential k;

	app_of(c)->who = (struct principal){ 0 };
	if (needed == ACCESS_NONE)
		return 0;
	if (access_credential(c, &k, e) < 0) {
		audit_key(c, &k);
		return -1;
	}
	return access_check_as(c, &k, needed, e);
}

int
access_check_as(struct call *c, const struct credential *k,
    enum access_level needed, struct err *e)
{
	struct app *app = app_of(c);
	auto_rows struct rows *r = NULL;

	if (!k->given)
		return access_refused(e);
	if (k->kind == CREDENTIAL_LOGIN && mutates(c) &&
	    access_same_origin(c, e) < 0)
		return -1;
	if (STORE_RUN(app->store, STMT_AUTH_KEY, &r, e, k->hash,
		CREDENTIAL_NAMES[k->kind], c->request_id) < 0)
		return -1;
	if (rows_count(r) == 0) {
		audit_key(c, k);
		return access_refused(e);
	}
	copy_principal(r, &app->who);
	if (!access_scope_allows(app->who.scope, needed))
		return err_set(e, ERR_DENIED, CODE_FORBIDDEN,
		    "this key's scope is %s; the call needs %s", app->who.scope,
		    ACCESS_NAMES[needed]);
	return 0;
}
