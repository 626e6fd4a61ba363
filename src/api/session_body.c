/* session_body.c: the bodies of /v1/sessions, as tables. */
#include "api/session_body.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/keys_body.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "domain/state.h"

enum {
	LABELS_MAX = 64, /* as session_labels() in SQL says */
	ENV_MAX = 256,
	ENV_TEXT_MAX = 48 * 1024, /* travels in one control message */
	FILES_MAX = 100,
	SLEEP_MAX_S = 30 * 86400,
	RUN_MAX_S = 365 * 86400
};

#define F(wire, member, type, lo, hi, help)                                    \
	JFIELD(wire, struct create_body, member, type, 0, lo, hi, help)

/* clang-format off */
const struct jfield CREATE_FIELDS[] = {
	F("name", name, J_STR, 1, 128, "unique among the org's living sessions; the same name finds the same session"),
	JFIELD("correlationKeys", struct create_body, correlation_keys, J_ARR, J_OF_STRINGS, 1, KEYS_GIVEN_MAX, "any of them finds the session it names; all of them name it from then on"),
	JFIELD_ENUM("isolation", struct create_body, isolation, 0, ISOLATION_NAMES, "a sandbox of its own, or the owner's shared one"),
	F("class", class_name, J_STR, 1, 64, "only together with isolation: session"),
	F("agentType", agent_type, J_STR, 1, 64, "what kind of agent works here"),
	F("labels", labels, J_OBJ, 0, LABELS_MAX, "strings to find it by"),
	F("env", env, J_OBJ, 0, ENV_MAX, "environment of its commands; sealed, never returned"),
	F("files", files, J_ARR, 0, FILES_MAX, "[{path, content | contentBase64, mode}], written before it is ready"),
	F("snapshot", snapshot, J_STR, 1, ID_SESSION_LEN, "id of a snapshot whose files it begins with; not looked at when the session is there already"),
	F("setup", setup, J_STR, 1, SETUP_MAX, "a command run once, in /workspace, before it is ready; its output is in the events, a failure is the session's"),
	F("sleepAfterSeconds", sleep_after_seconds, J_INT, 1, SLEEP_MAX_S, "idle time after which it sleeps"),
	F("sleepAfter", sleep_after, J_STR, 2, 16, "the same as 30s, 10m or 2h"),
	F("keepAlive", keep_alive, J_BOOL, 0, 0, "never sleeps by itself"),
	F("maxRunSeconds", max_run_seconds, J_INT, 1, RUN_MAX_S, "put to sleep after so long, whatever happens"),
	F("suspend", suspend, J_BOOL, 0, 0, "sleep freezes it, memory and all, where the machine can"),
	F("expiresAt", expires_at, J_STR, 1, 40, "RFC 3339, as 2030-01-31T12:00:00Z; deleted then, whatever happens"),
	F("wakeOnPreview", wake_on_preview, J_BOOL, 0, 0, "a preview request wakes it"),
	F("baseUrl", base_url, J_STR, 8, 256, "origin of its preview URLs; set once"),
};
#undef F
const struct jfield PATCH_FIELDS[] = {
	JFIELD("sleepAfterSeconds", struct patch_body, sleep_after_seconds, J_INT, 0, 1, SLEEP_MAX_S, "idle time after which it sleeps"),
	JFIELD("keepAlive", struct patch_body, keep_alive, J_BOOL, 0, 0, 0, "never sleeps by itself"),
	JFIELD("maxRunSeconds", struct patch_body, max_run_seconds, J_INT, 0, 0, RUN_MAX_S, "put to sleep after so long; 0: no limit"),
	JFIELD("suspend", struct patch_body, suspend, J_BOOL, 0, 0, 0, "sleep freezes it where the machine can"),
	JFIELD("wakeOnPreview", struct patch_body, wake_on_preview, J_BOOL, 0, 0, 0, "a preview request wakes it"),
	JFIELD("expiresAt", struct patch_body, expires_at, J_STR, 0, 1, 40, "RFC 3339, as 2030-01-31T12:00:00Z; deleted then, whatever happens"),
	JFIELD("labels", struct patch_body, labels, J_OBJ, 0, 0, LABELS_MAX, "merged; null removes"),
	JFIELD("env", struct patch_body, env, J_OBJ, 0, 0, ENV_MAX, "merged and exported into living shells; null removes"),
	JFIELD("baseUrl", struct patch_body, base_url, J_STR, 0, 8, 256, "set once"),
};
const struct jfield SLEEP_FIELDS[] = {
	JFIELD("suspend", struct sleep_body, suspend, J_BOOL, 0, 0, 0, "freeze instead of stopping; without it, as the session says"),
};
const struct jfield EXTEND_FIELDS[] = {
	JFIELD("seconds", struct extend_body, seconds, J_INT, 0, 1, SLEEP_MAX_S, "stays awake at least this long from now; 600 if it is not given"),
};
/* clang-format on */
const size_t CREATE_FIELD_COUNT = ARRAY_LEN(CREATE_FIELDS);
const size_t PATCH_FIELD_COUNT = ARRAY_LEN(PATCH_FIELDS);
const size_t SLEEP_FIELD_COUNT = ARRAY_LEN(SLEEP_FIELDS);
const size_t EXTEND_FIELD_COUNT = ARRAY_LEN(EXTEND_FIELDS);

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

/* Strings only; null too where a patch may remove. */
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

static int
check_env(const json_t *env, bool nulls, struct err *e)
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

/* A mode as 420 or as "0644"; 0 when absent. */
static int
read_mode(json_t *file, struct err *e)
{
	json_t *m = json_object_get(file, "mode");
	json_int_t n = json_integer_value(m);

	if (m == NULL)
		return 0;
	if (json_is_string(m) &&
	    str_made_of(json_string_value(m), "01234567", 3, 4))
		n = strtol(json_string_value(m), NULL, 8);
	else if (!json_is_integer(m))
		n = -1;
	if (n < 0 || n > 0777)
		return err_field(e, "files", "mode must be like \"0644\"");
	json_object_set_new(file, "mode", json_integer(n));
	return 0;
}

static int
check_file(json_t *f, struct err *e)
{
	const json_t *path = json_object_get(f, "path");
	const json_t *text = json_object_get(f, "content");
	const json_t *b64 = json_object_get(f, "contentBase64");
	const char *key;
	json_t *v;

	if (!json_is_object(f))
		return err_field(e, "files", "must hold objects");
	json_object_foreach(f, key, v)
	{
		if (!str_equal(key, "path") && !str_equal(key, "content") &&
		    !str_equal(key, "contentBase64") && !str_equal(key, "mode"))
			return err_field(e, "files",
			    "%.40s is not a known field", key);
	}
	if (path == NULL || !is_plain_string(path, 4096) ||
	    json_string_length(path) == 0)
		return err_field(e, "files", "path must have 1 to 4096 bytes");
	if ((text == NULL) == (b64 == NULL))
		return err_field(e, "files",
		    "each needs content or contentBase64, and not both");
	if (!json_is_string(text != NULL ? text : b64))
		return err_field(e, "files", "content must be a string");
	if (b64 != NULL) {
		auto_buf struct buf bytes = { 0 };

		if (strlen(json_string_value(b64)) != json_string_length(b64) ||
		    !token_base64(json_string_value(b64), &bytes))
			return err_field(e, "files",
			    "contentBase64 is not base64");
	}
	return read_mode(f, e);
}

static int
check_files(const json_t *files, struct err *e)
{
	size_t i;
	json_t *f;

	json_array_foreach((json_t *)(uintptr_t)files, i, f)
	{
		if (check_file(f, e) < 0)
			return -1;
	}
	return 0;
}

/* "10m" as Cloudflare's SDK has it. */
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

/* "Z", or an offset that PostgreSQL takes: up to 15:59 either way. */
static bool
is_zone(const char *s)
{
	int64_t hours, minutes;
	char text[3] = "";

	if (str_equal(s, "Z"))
		return true;
	if (strlen(s) != 6 || (s[0] != '+' && s[0] != '-') || s[3] != ':')
		return false;
	memcpy(text, s + 1, 2);
	return str_made_of(text, "0123456789", 2, 2) &&
	    str_to_int(text, 0, 15, &hours) &&
	    str_made_of(s + 4, "0123456789", 2, 2) &&
	    str_to_int(s + 4, 0, 59, &minutes);
}

static int
check_expiry(const char *s, struct err *e)
{
	struct tm tm = { 0 }, day;
	const char *rest;
	time_t at;

	if (s[0] == '\0')
		return 0;
	rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);
	if (rest != NULL && *rest == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	day = tm;
	at = timegm(&day);
	/* a day that the month does not have has become another one */
	if (rest == NULL || !is_zone(rest) || day.tm_mday != tm.tm_mday ||
	    day.tm_sec != tm.tm_sec)
		return err_field(e, "expiresAt",
		    "must be a date of RFC 3339, such as 2030-01-31T12:00:00Z");
	/* a day's slack for offsets: the database has the last word */
	if (at < time(NULL) - 86400)
		return err_field(e, "expiresAt", "is in the past");
	return 0;
}

static bool
is_this_machine(const char *host)
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
	if (str_starts(s, "http://") && !is_this_machine(host))
		return err_field(e, "baseUrl", "must be https");
	return 0;
}

static int
check_name(const char *s, struct err *e)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return err_field(e, "name",
			    "must not contain control characters");
	return 0;
}

/* The name may come once from a header; two that differ are a mistake. */
static int
read_name_header(const struct call *c, struct create_body *b, struct err *e)
{
	const char *h = call_param(c, "HTTP_X_SANDBOX_NAME");

	if (h[0] == '\0' || str_equal(h, b->name))
		return 0;
	if (b->name[0] != '\0')
		return err_field(e, "name", "differs from X-Sandbox-Name");
	if (!json_is_text(h) || !str_copy(b->name, sizeof(b->name), h))
		return err_field(e, "X-Sandbox-Name",
		    "must have 1 to 128 bytes of UTF-8");
	return 0;
}

int
create_body_read(struct call *c, struct create_body *b, json_t **json,
    struct err *e)
{
	*b = (struct create_body){ .isolation = -1,
		.sleep_after_seconds = app_of(c)->conf->sleep_after_seconds };
	if (call_json(c, BODY_MAX, json, e) < 0 ||
	    jfield_decode(*json, CREATE_FIELDS, CREATE_FIELD_COUNT, 0, b, e) <
		0 ||
	    read_name_header(c, b, e) < 0 || check_name(b->name, e) < 0 ||
	    read_sleep_after(b, e) < 0 || check_expiry(b->expires_at, e) < 0 ||
	    check_base_url(b->base_url, e) < 0 ||
	    keys_check(b->correlation_keys, "correlationKeys", e) < 0 ||
	    check_env(b->env, false, e) < 0 || check_files(b->files, e) < 0)
		return -1;
	if (b->labels != NULL &&
	    check_strings(b->labels, "labels", 255, false, false, e) < 0)
		return -1;
	if (b->class_name[0] != '\0' && b->isolation != ISOLATION_SESSION)
		return err_field(e, "class",
		    "can be chosen only together with isolation: session");
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
	    check_env(b->env, true, e) < 0)
		return -1;
	if (b->labels != NULL)
		return check_strings(b->labels, "labels", 255, false, true, e);
	return 0;
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
wait_deadline(struct call *c, int64_t *deadline_ms, struct err *e)
{
	char text[16];
	int64_t seconds = WAIT_DEFAULT_S;
	bool present;

	if (call_query(c, "wait", text, sizeof(text), &present, e) < 0)
		return -1;
	if (present && !str_to_int(text, 0, WAIT_MAX_S, &seconds))
		return err_field(e, "wait", "must be 0 to %d seconds",
		    WAIT_MAX_S);
	*deadline_ms = app_deadline(c, seconds * 1000);
	return 0;
}
