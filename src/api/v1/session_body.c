/* session_body.c: reads the bodies of /v1/sessions by tables. */
#include "api/v1/session_body.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/gate/sandbox_name.h"
#include "api/v1/date.h"
#include "api/v1/files_body.h"
#include "api/v1/keys_body.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "domain/limits.h"
#include "domain/network.h"
#include "domain/secrets.h"
#include "domain/state.h"

enum {
	LABELS_MAX = 64, /* session_labels() in SQL has the same limit */
	ENV_MAX = 256,
	ENV_TEXT_MAX = 48 * 1024, /* must fit into one control message */
	FILES_MAX = 100,
	SLEEP_MAX_S = 30 * 86400,
	RUN_MAX_S = 365 * 86400,
	CONCURRENCY_MAX = 16
};

#define F(wire, member, type, lo, hi, help)                                    \
	JFIELD(wire, struct create_body, member, type, 0, lo, hi, help)

/* clang-format off */
const struct jfield CREATE_FIELDS[] = {
	F("name", name, J_STR, 1, 128, "unique among the org's living sessions; the same name finds the same session"),
	JFIELD("correlationKeys", struct create_body, correlation_keys, J_ARR, J_OF_STRINGS, 1, CORRELATION_GIVEN_MAX, "any of them finds the session it names; all of them name it from then on"),
	JFIELD_ENUM("isolation", struct create_body, isolation, 0, ISOLATION_NAMES, "a sandbox of its own, or the owner's shared one"),
	F("class", class_name, J_STR, 1, 64, "only together with isolation: session"),
	F("agentType", agent_type, J_STR, 1, AGENT_TYPE_MAX - 1, "what kind of agent works here; limits and network are those of its profile"),
	JFIELD_OBJ("limits", struct create_body, limits, 0, 6, LIMITS_FIELDS, LIMITS_FIELD_COUNT, "{memoryMb, cpuSeconds, wallSeconds, networkRequests, pids, diskMb}: its own, instead of the profile's; at most the class's"),
	F("labels", labels, J_OBJ, 0, LABELS_MAX, "strings to find it by"),
	F("env", env, J_OBJ, 0, ENV_MAX, "environment of its commands; sealed, never returned"),
	F("files", files, J_ARR, 0, FILES_MAX, "[{path, content | contentBase64, mode}], written before it is ready"),
	F("snapshot", snapshot, J_STR, 1, ID_SESSION_LEN, "id of a snapshot whose files it begins with"),
	F("snapshotFallback", snapshot_fallback, J_BOOL, 0, 0, "begins without files if the snapshot is gone, and says so in an event"),
	F("setup", setup, J_STR, 1, SETUP_MAX, "a command run once, in /workspace, before it is ready; its output is in the events; if it fails the create is 409 setup_failed"),
	F("sleepAfterSeconds", sleep_after_seconds, J_INT, 1, SLEEP_MAX_S, "idle time after which it sleeps"),
	F("sleepAfter", sleep_after, J_STR, 2, 16, "the same as 30s, 10m or 2h"),
	F("keepAlive", keep_alive, J_BOOL, 0, 0, "never sleeps by itself"),
	F("maxRunSeconds", max_run_seconds, J_INT, 1, RUN_MAX_S, "put to sleep after so long, whatever happens"),
	F("concurrency", concurrency, J_INT, 1, CONCURRENCY_MAX, "executions that run at once, 1 without it; others wait"),
	F("suspend", suspend, J_BOOL, 0, 0, "sleep freezes it, memory and all, where the machine can"),
	F("expiresAt", expires_at, J_STR, 1, 40, "RFC 3339, as 2030-01-31T12:00:00Z; deleted then, whatever happens"),
	F("wakeOnPreview", wake_on_preview, J_BOOL, 0, 0, "a preview request wakes it"),
	F("baseUrl", base_url, J_STR, 8, 256, "origin of its preview URLs; set once"),
	F("network", network, J_OBJ, 0, 3, "{mode: none, allow or open; allow: [host, *.host, host:port, @preset]; maxRequests}: what it may connect to; without it, as its profile or the org says"),
	F("secrets", secrets, J_ARR, 0, SECRETS_MAX, "[{host, header, value, plain}]: the header is added to its requests for the host, outside of the sandbox, if they use TLS or it is `plain`; sealed, values are never returned"),
	F("start", start, J_BOOL, 0, 0, "false: it is registered, and the first call into it starts it"),
};
#undef F
const struct jfield PATCH_FIELDS[] = {
	JFIELD("sleepAfterSeconds", struct patch_body, sleep_after_seconds, J_INT, 0, 1, SLEEP_MAX_S, "idle time after which it sleeps"),
	JFIELD("keepAlive", struct patch_body, keep_alive, J_BOOL, 0, 0, 0, "never sleeps by itself"),
	JFIELD("maxRunSeconds", struct patch_body, max_run_seconds, J_INT, 0, 0, RUN_MAX_S, "put to sleep after so long; 0: no limit"),
	JFIELD("concurrency", struct patch_body, concurrency, J_INT, 0, 1, CONCURRENCY_MAX, "executions that run at once"),
	JFIELD("suspend", struct patch_body, suspend, J_BOOL, 0, 0, 0, "sleep freezes it where the machine can"),
	JFIELD("wakeOnPreview", struct patch_body, wake_on_preview, J_BOOL, 0, 0, 0, "a preview request wakes it"),
	JFIELD("expiresAt", struct patch_body, expires_at, J_STR, 0, 1, 40, "RFC 3339, as 2030-01-31T12:00:00Z; deleted then, whatever happens"),
	JFIELD("labels", struct patch_body, labels, J_OBJ, 0, 0, LABELS_MAX, "merged; null removes"),
	JFIELD("env", struct patch_body, env, J_OBJ, 0, 0, ENV_MAX, "merged and exported into living shells; null removes"),
	JFIELD("network", struct patch_body, network, J_OBJ, J_NULLABLE, 0, 3, "{mode, allow, maxRequests}, replaced as a whole; null: as its profile or the org says"),
	JFIELD("secrets", struct patch_body, secrets, J_ARR, 0, 0, SECRETS_MAX, "[{host, header, value, plain}], replaced as a whole; [] removes all"),
	JFIELD("baseUrl", struct patch_body, base_url, J_STR, 0, 8, 256, "set once"),
};
const struct jfield SLEEP_FIELDS[] = {
	JFIELD("suspend", struct sleep_body, suspend, J_BOOL, 0, 0, 0, "freeze instead of stopping; without it, as the session says"),
};
const struct jfield EXTEND_FIELDS[] = {
	JFIELD("seconds", struct extend_body, seconds, J_INT, 0, 1, SLEEP_MAX_S, "stays awake at least this long from now; 600 if it is not given"),
};
const struct jfield INTERRUPT_FIELDS[] = {
	JFIELD("sessionId", struct interrupt_body, shell, J_STR, 0, 1, 128, "only what runs in this shell session or code context, or beside it; without it, all that runs"),
};
/* clang-format on */
const size_t CREATE_FIELD_COUNT = ARRAY_LEN(CREATE_FIELDS);
const size_t PATCH_FIELD_COUNT = ARRAY_LEN(PATCH_FIELDS);
const size_t SLEEP_FIELD_COUNT = ARRAY_LEN(SLEEP_FIELDS);
const size_t EXTEND_FIELD_COUNT = ARRAY_LEN(EXTEND_FIELDS);
const size_t INTERRUPT_FIELD_COUNT = ARRAY_LEN(INTERRUPT_FIELDS);

static bool
is_env_name(const char *s)
{
	return !isdigit((unsigned char)s[0]) &&
	    str_made_of(s,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789",
		1, 128);
}

static bool
is_plain_string(const json_t *v, size_t max)
{
	return json_is_string(v) && json_string_length(v) <= max &&
	    strlen(json_string_value(v)) == json_string_length(v);
}

/* Checks that all members are strings; `nulls`: or null, to remove one. */
static int
check_strings(const json_t *o, const char *field, size_t max, bool names,
    bool nulls, struct err *e)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		if (names ? !is_env_name(key)
			  : key[0] == '\0' || strlen(key) > 63)
			return err_field(e, field, "\"%.40s\" is not a name",
			    key);
		if (!is_plain_string(v, max) && !(nulls && json_is_null(v)))
			return err_field(e, field,
			    "%.40s must be a string of at most %zu bytes", key,
			    max);
	}
	return 0;
}

int
body_check_env(const json_t *env, bool nulls, struct err *e)
{
	auto_free char *text = NULL;

	if (env == NULL)
		return 0;
	if (check_strings(env, "env", ENV_TEXT_MAX, true, nulls, e) < 0)
		return -1;
	text = json_text(env);
	if (strlen(text) > ENV_TEXT_MAX)
		return err_field(e, "env", "may have at most %d bytes in all",
		    ENV_TEXT_MAX);
	return 0;
}

/* Reads "10m", the format of Cloudflare's SDK. */
static int
read_sleep_after(struct create_body *b, struct err *e)
{
	size_t len = strlen(b->sleep_after);
	char digits[sizeof(b->sleep_after)];
	int64_t n, unit;

	if (len == 0)
		return 0;
	memcpy(digits, b->sleep_after, len);
	digits[len - 1] = '\0';
	unit = b->sleep_after[len - 1] == 's' ? 1
	    : b->sleep_after[len - 1] == 'm'  ? 60
	    : b->sleep_after[len - 1] == 'h'  ? 3600
					      : 0;
	if (unit == 0 || !str_to_int(digits, 1, SLEEP_MAX_S / unit, &n))
		return err_field(e, "sleepAfter",
		    "must be like 30s, 10m or 2h");
	b->sleep_after_seconds = n * unit;
	return 0;
}

static int
check_expiry(const char *s, struct err *e)
{
	time_t at;

	if (s[0] == '\0')
		return 0;
	if (date_check(s, "expiresAt", &at, e) < 0)
		return -1;
	/* one day more for zone offsets: the database checks exactly */
	if (at < time(NULL) - 86400)
		return err_field(e, "expiresAt", "is in the past");
	return 0;
}

bool
host_is_local(const char *host)
{
	static const char *const NAMES[] = { "localhost", "127.0.0.1" };

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		size_t len = strlen(NAMES[i]);

		if (str_starts(host, NAMES[i]) &&
		    (host[len] == '\0' || host[len] == ':'))
			return true;
	}
	return false;
}

static int
check_base_url(const char *s, struct err *e)
{
	const char *host;

	if (s[0] == '\0')
		return 0;
	host = str_starts(s, "https://") ? s + 8
	    : str_starts(s, "http://")   ? s + 7
					 : NULL;
	if (host == NULL ||
	    !str_made_of(host, "abcdefghijklmnopqrstuvwxyz0123456789.-:", 1,
		200))
		return err_field(e, "baseUrl",
		    "must be an origin such as https://previews.example.com");
	if (str_starts(s, "http://") && !host_is_local(host))
		return err_field(e, "baseUrl", "must be https");
	return 0;
}

int
body_check_network(json_t *json, const json_t **network, struct err *e)
{
	json_t *named = NULL;

	if (*network == NULL || json_is_null(*network))
		return 0;
	if (network_check(*network, "network", &named, e) < 0)
		return -1;
	json_object_set_new(json, "network", named);
	*network = named;
	return 0;
}

/* The same for secrets. */
static int
check_secrets(json_t *json, const json_t **secrets, struct err *e)
{
	json_t *named = NULL;

	if (*secrets == NULL)
		return 0;
	if (secrets_check(*secrets, "secrets", &named, e) < 0)
		return -1;
	json_object_set_new(json, "secrets", named);
	*secrets = named;
	return 0;
}

/* The name may be in a header instead; two names must not differ. */
static int
read_name_header(const struct call *c, struct create_body *b, struct err *e)
{
	const char *h = call_param(c, "HTTP_X_SANDBOX_NAME");

	if (h[0] == '\0' || str_equal(h, b->name))
		return 0;
	if (b->name[0] != '\0')
		return err_field(e, "name", "differs from X-Sandbox-Name");
	if (sandbox_name_check("X-Sandbox-Name", h, e) < 0)
		return -1;
	str_copy(b->name, sizeof(b->name), h);
	return 0;
}

int
create_body_read(struct call *c, struct create_body *b, json_t **json,
    struct err *e)
{
	*b = (struct create_body){ .isolation = -1,
		.keep_alive = -1,
		.suspend = -1,
		.wake_on_preview = -1,
		.start = -1,
		.sleep_after_seconds = app_of(c)->conf->sleep_after_seconds };
	if (call_json(c, BODY_MAX, json, e) < 0 ||
	    jfield_decode(*json, CREATE_FIELDS, CREATE_FIELD_COUNT, 0, b, e) <
		0 ||
	    read_name_header(c, b, e) < 0 ||
	    sandbox_name_check("name", b->name, e) < 0 ||
	    read_sleep_after(b, e) < 0 || check_expiry(b->expires_at, e) < 0 ||
	    check_base_url(b->base_url, e) < 0 ||
	    keys_check(b->correlation_keys, "correlationKeys", e) < 0 ||
	    body_check_env(b->env, false, e) < 0 ||
	    body_check_network(*json, &b->network, e) < 0 ||
	    check_secrets(*json, &b->secrets, e) < 0 ||
	    (b->limits != NULL && limits_check(b->limits, "limits", e) < 0) ||
	    files_body_check(b->files, 0, &b->files_in_root, e) < 0)
		return -1;
	if (b->labels != NULL &&
	    check_strings(b->labels, "labels", 255, false, false, e) < 0)
		return -1;
	if (b->class_name[0] != '\0' && b->isolation != ISOLATION_SESSION)
		return err_field(e, "class",
		    "can be chosen only together with isolation: session");
	if (b->snapshot_fallback == 1 && b->snapshot[0] == '\0')
		return err_field(e, "snapshotFallback",
		    "can be given only together with snapshot");
	b->sleep_given = b->sleep_after[0] != '\0' ||
	    json_object_get(*json, "sleepAfterSeconds") != NULL;
	return 0;
}

int
patch_body_read(struct call *c, struct patch_body *b, json_t **json,
    struct err *e)
{
	*b = (struct patch_body){ .keep_alive = -1,
		.suspend = -1,
		.wake_on_preview = -1,
		.max_run_seconds = -1 };
	if (call_json(c, BODY_MAX, json, e) < 0 ||
	    jfield_decode(*json, PATCH_FIELDS, PATCH_FIELD_COUNT, 0, b, e) <
		0 ||
	    check_expiry(b->expires_at, e) < 0 ||
	    check_base_url(b->base_url, e) < 0 ||
	    body_check_env(b->env, true, e) < 0 ||
	    body_check_network(*json, &b->network, e) < 0 ||
	    check_secrets(*json, &b->secrets, e) < 0)
		return -1;
	if (b->labels != NULL)
		return check_strings(b->labels, "labels", 255, false, true, e);
	return 0;
}

json_t *
patch_spec(const struct patch_body *b)
{
	const struct {
		const char *name;
		int64_t value;
		bool given, yes_or_no;
	} NUMBERS[] = {
		{ "sleepAfterSeconds", b->sleep_after_seconds,
		    b->sleep_after_seconds > 0, false },
		{ "maxRunSeconds", b->max_run_seconds, b->max_run_seconds >= 0,
		    false },
		{ "concurrency", b->concurrency, b->concurrency > 0, false },
		{ "keepAlive", b->keep_alive, b->keep_alive >= 0, true },
		{ "suspend", b->suspend, b->suspend >= 0, true },
		{ "wakeOnPreview", b->wake_on_preview, b->wake_on_preview >= 0,
		    true },
	};
	json_t *spec = json_object();

	for (size_t i = 0; i < ARRAY_LEN(NUMBERS); i++)
		if (NUMBERS[i].given)
			json_object_set_new(spec, NUMBERS[i].name,
			    NUMBERS[i].yes_or_no
				? json_boolean(NUMBERS[i].value)
				: json_integer(NUMBERS[i].value));
	if (b->expires_at[0] != '\0')
		json_object_set_new(spec, "expiresAt",
		    json_string(b->expires_at));
	if (b->labels != NULL)
		json_object_set_new(spec, "labels", json_deep_copy(b->labels));
	if (b->network != NULL)
		json_object_set_new(spec, "network",
		    json_deep_copy(b->network));
	if (b->base_url[0] != '\0')
		json_object_set_new(spec, "baseUrl", json_string(b->base_url));
	return spec;
}

json_t *
create_changes(const struct create_body *b)
{
	struct patch_body p = {
		.sleep_after_seconds =
		    b->sleep_given ? b->sleep_after_seconds : 0,
		.max_run_seconds =
		    b->max_run_seconds > 0 ? b->max_run_seconds : -1,
		.concurrency = b->concurrency,
		.keep_alive = b->keep_alive,
		.suspend = b->suspend,
		.wake_on_preview = b->wake_on_preview,
		.labels = b->labels,
		.network = b->network,
	};

	str_copy(p.expires_at, sizeof(p.expires_at), b->expires_at);
	str_copy(p.base_url, sizeof(p.base_url), b->base_url);
	return patch_spec(&p);
}

void
request_hash(const struct call *c, const json_t *body,
    char out[TOKEN_HASH_HEX_MAX])
{
	auto_free char *text = json_dumps(body, JSON_COMPACT | JSON_SORT_KEYS);
	auto_free char *all = xasprintf("%s %s\n%s\n%s", c->method, c->path,
	    call_param(c, "HTTP_X_SANDBOX_NAME"), text != NULL ? text : "");

	token_hash(all, out);
}

int
wait_seconds(struct call *c, int64_t *seconds, struct err *e)
{
	char text[16];
	bool present;

	if (call_query(c, "wait", text, sizeof(text), &present, e) < 0)
		return -1;
	if (present && !str_to_int(text, 0, WAIT_MAX_S, seconds))
		return err_field(e, "wait", "must be 0 to %d seconds",
		    WAIT_MAX_S);
	return 0;
}

int
wait_deadline(struct call *c, int64_t *deadline_ms, struct err *e)
{
	int64_t seconds = WAIT_DEFAULT_S;

	if (wait_seconds(c, &seconds, e) < 0)
		return -1;
	*deadline_ms = app_deadline(c, seconds * 1000);
	return 0;
}
