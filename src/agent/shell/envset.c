/* envset.c: keeps the session's environment variables. */
#include "agent/shell/envset.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/lock.h"
#include "agent/shell/script.h"
#include "common/id.h"
#include "common/mem.h"

enum { SESSION_NAME_MAX = 513 }; /* 128 characters of UTF-8 and the NUL */

struct var {
	char *name;
	char *value; /* NULL: unset */
	int64_t seq; /* number of its last change */
};

static struct lock lock = LOCK_INIT(LOCK_ENVSET);
static struct var *vars;
static size_t var_count;
static int64_t last_seq;
static char user_name[33] = "user";
static char session[ID_MAX];
static char session_name[SESSION_NAME_MAX];
static char cpus[24];
static bool has_network;
static int64_t adopt_seq; /* number of the change of name and network */

/*
 * Variables that lead programs to certificates.  Some replace a program's own
 * list, others add to it.
 */
static const struct {
	const char *name;
	bool adds;
} TRUST[] = {
	{ "SSL_CERT_FILE", false },      /* OpenSSL, Go, Python's ssl, Ruby */
	{ "CURL_CA_BUNDLE", false },     /* curl */
	{ "REQUESTS_CA_BUNDLE", false }, /* requests, pip */
	{ "GIT_SSL_CAINFO", false },
	{ "CARGO_HTTP_CAINFO", false },
	{ "AWS_CA_BUNDLE", false },
	{ "DENO_CERT", true },
	{ "NODE_EXTRA_CA_CERTS", true },
};
static const char *trusted, *trusted_bundle; /* NULL: no certificates */
static int64_t trust_seq;

static bool
name_ok(const char *s)
{
	if (strlen(s) >= ENV_NAME_MAX ||
	    !(isalpha((unsigned char)*s) || *s == '_'))
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

int
envset_check(const json_t *env, const char *field, struct err *e)
{
	size_t total = 0;
	const char *name;
	json_t *v;

	if (env == NULL)
		return 0;
	if (!json_is_object(env) || json_object_size(env) > ENV_COUNT_MAX)
		return err_field(e, field,
		    "must be an object with at most %d members", ENV_COUNT_MAX);
	json_object_foreach((json_t *)(uintptr_t)env, name, v)
	{
		size_t len = json_string_length(v);

		if (!name_ok(name))
			return err_field(e, field,
			    "has a name that is not valid for a variable");
		if (json_is_null(v))
			continue;
		if (!json_is_string(v) || len > ENV_VALUE_MAX ||
		    strlen(json_string_value(v)) != len)
			return err_field(e, field,
			    "%s must be a string of at most %d bytes", name,
			    ENV_VALUE_MAX);
		total += strlen(name) + len + 2;
	}
	if (total > ENV_TOTAL_MAX)
		return err_field(e, field, "must not have more than %d bytes",
		    ENV_TOTAL_MAX);
	return 0;
}

static struct var *
find_var(const char *name)
{
	for (size_t i = 0; i < var_count; i++)
		if (str_equal(vars[i].name, name))
			return &vars[i];
	return NULL;
}

static size_t
entry_bytes(const char *name, const char *value)
{
	return value != NULL ? strlen(name) + strlen(value) + 2 : 0;
}

/*
 * Refuses a change whose result has too many variables or bytes.  It is checked
 * before the first variable changes: a change that is refused changes nothing.
 */
static int
check_result(const json_t *env, bool whole, struct err *e)
{
	size_t total = 0, count = 0;
	const char *name;
	json_t *v;

	for (size_t i = 0; i < var_count; i++)
		if (vars[i].value != NULL && !whole &&
		    json_object_get(env, vars[i].name) == NULL) {
			total += entry_bytes(vars[i].name, vars[i].value);
			count++;
		}
	json_object_foreach((json_t *)(uintptr_t)env, name, v)
	{
		total += entry_bytes(name, json_string_value(v));
		count += !json_is_null(v);
	}
	if (count > ENV_COUNT_MAX)
		return err_field(e, "env",
		    "must not have more than %d variables", ENV_COUNT_MAX);
	if (total > ENV_TOTAL_MAX)
		return err_field(e, "env", "must not have more than %d bytes",
		    ENV_TOTAL_MAX);
	return 0;
}

/*
 * Returns an entry for a new name.  An unset variable keeps its entry, because
 * shells must still be sent the unset.  When the table is full, the entry that
 * was unset longest ago is used again; NULL if there is none.
 */
static struct var *
place_for_new(void)
{
	struct var *oldest = NULL;

	if (var_count < ENV_COUNT_MAX) {
		vars = xrealloc(vars, (var_count + 1) * sizeof(*vars));
		vars[var_count] = (struct var){ 0 };
		return &vars[var_count++];
	}
	for (size_t i = 0; i < var_count; i++)
		if (vars[i].value == NULL &&
		    (oldest == NULL || vars[i].seq < oldest->seq))
			oldest = &vars[i];
	return oldest;
}

static void
set_var(const char *name, const char *value)
{
	struct var *v = find_var(name);

	if (v == NULL) {
		v = place_for_new();
		if (v == NULL)
			return; /* an unset of a name that is not there */
		free(v->name);
		v->name = xstrdup(name);
	}
	free(v->value);
	v->value = value != NULL ? xstrdup(value) : NULL;
	v->seq = last_seq;
}

static void
unset_all_but(const json_t *env)
{
	for (size_t i = 0; i < var_count; i++)
		if (vars[i].value != NULL &&
		    json_object_get(env, vars[i].name) == NULL) {
			free(vars[i].value);
			vars[i].value = NULL;
			vars[i].seq = last_seq;
		}
}

int
envset_merge(const json_t *env, bool whole, struct err *e)
{
	json_t *all = (json_t *)(uintptr_t)env;
	const char *name;
	json_t *v;
	int rc;

	lock_take(&lock);
	rc = check_result(env, whole, e);
	if (rc == 0) {
		last_seq++;
		if (whole)
			unset_all_but(env);
		/* unset first: that makes room in the table */
		json_object_foreach(all, name, v)
		{
			if (json_is_null(v))
				set_var(name, NULL);
		}
		json_object_foreach(all, name, v)
		{
			if (!json_is_null(v))
				set_var(name, json_string_value(v));
		}
	}
	lock_drop(&lock);
	return rc;
}

static const char *
trust_file(size_t i)
{
	return TRUST[i].adds ? trusted : trusted_bundle;
}

void
envset_trust(const char *authority, const char *bundle)
{
	lock_take(&lock);
	trusted = authority;
	trusted_bundle = bundle;
	trust_seq = ++last_seq;
	lock_drop(&lock);
}

enum {
	OURS_MAX = 16,
	OURS_OF_SESSION = 3 /* the first ones may change when it is adopted */
};

/*
 * Lists the variables that every shell has, unless the session has its own; one
 * with the value "" is not set.  The caller has the lock.
 */
static size_t
list_ours(const char *out[OURS_MAX][2])
{
	const bool root = str_equal(user_name, "root");
	const char *const OURS[][2] = {
		{ "SANDLEASE_SESSION_NAME", session_name },
		/*
		 * Without a network npm would retry for more than a minute, pip
		 * for ten seconds.  pip names the reason only if it retries.
		 */
		{ "NPM_CONFIG_FETCH_RETRIES", has_network ? "" : "0" },
		{ "PIP_RETRIES", has_network ? "" : "1" },
		{ "PATH",
		    "/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:"
		    "/usr/sbin:/usr/bin:/sbin:/bin:/etc/sandlease/bin" },
		{ "HOME", "/home/user" },
		{ "USER", user_name },
		{ "LOGNAME", user_name },
		{ "SHELL", "/bin/bash" },
		{ "LANG", "C.UTF-8" },
		{ "LC_ALL", "C.UTF-8" },
		{ "SANDLEASE_SESSION_ID", session },
		{ "PIP_BREAK_SYSTEM_PACKAGES", "1" },
		/* /usr is read-only unless root: install in the home directory */
		{ "NPM_CONFIG_PREFIX", root ? "" : "/home/user/.local" },
		/* nproc(1) reads OMP_NUM_THREADS too */
		{ "OMP_NUM_THREADS", cpus },
		{ "GOMAXPROCS", cpus },
	};

	_Static_assert(ARRAY_LEN(OURS) <= OURS_MAX, "there is room for all");
	memcpy(out, OURS, sizeof(OURS));
	return ARRAY_LEN(OURS);
}

static bool
is_ours(const char *name, const char *ours[OURS_MAX][2], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(ours[i][0], name))
			return true;
	return false;
}

/* Exports what the session's adoption has changed. */
static void
script_adoption(struct buf *to)
{
	const char *ours[OURS_MAX][2];

	(void)list_ours(ours);
	for (size_t i = 0; i < OURS_OF_SESSION; i++)
		if (find_var(ours[i][0]) == NULL)
			script_export(to, ours[i][0],
			    ours[i][1][0] != '\0' ? ours[i][1] : NULL);
}

int64_t
envset_script(int64_t since, struct buf *to)
{
	int64_t now;

	lock_take(&lock);
	for (size_t i = 0; i < var_count; i++)
		if (vars[i].seq > since)
			script_export(to, vars[i].name, vars[i].value);
	for (size_t i = 0; trust_seq > since && i < ARRAY_LEN(TRUST); i++)
		if (find_var(TRUST[i].name) == NULL)
			script_export(to, TRUST[i].name, trust_file(i));
	if (adopt_seq > since)
		script_adoption(to);
	now = last_seq;
	lock_drop(&lock);
	return now;
}

void
envset_open(const struct envset_session *s)
{
	str_copy(session, sizeof(session), s->id);
	str_copy(session_name, sizeof(session_name), s->name);
	has_network = s->network;
	if (s->cpus > 0)
		snprintf(cpus, sizeof(cpus), "%" PRId64, s->cpus);
	if (str_made_of(s->user,
		"abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-",
		1, sizeof(user_name) - 1))
		str_copy(user_name, sizeof(user_name), s->user);
}

void
envset_adopt(const char *name, bool network)
{
	lock_take(&lock);
	str_copy(session_name, sizeof(session_name), name);
	has_network = network;
	adopt_seq = ++last_seq;
	lock_drop(&lock);
}

struct environment {
	struct buf text;
	size_t count;
	const json_t *more; /* the caller's variables, which win */
};

static void
put_entry(struct environment *n, const char *name, const char *value)
{
	buf_fmt(&n->text, "%s=%s", name, value);
	buf_add(&n->text, "", 1); /* the NUL too */
	n->count++;
}

/* Adds a variable, unless the caller's `more` has it. */
static void
add_default(struct environment *n, const char *name, const char *value)
{
	if (!json_is_string(json_object_get(n->more, name)))
		put_entry(n, name, value);
}

static void
add_all(struct environment *n)
{
	const char *ours[OURS_MAX][2];
	size_t count = list_ours(ours);

	for (size_t i = 0; i < count; i++) {
		const struct var *v = find_var(ours[i][0]);

		/* the session's own value wins; the loop below skips it */
		if (v != NULL && v->value != NULL)
			add_default(n, v->name, v->value);
		else if (v == NULL && ours[i][1][0] != '\0')
			add_default(n, ours[i][0], ours[i][1]);
	}
	for (size_t i = 0; i < var_count; i++)
		if (vars[i].value != NULL &&
		    !is_ours(vars[i].name, ours, count))
			add_default(n, vars[i].name, vars[i].value);
	for (size_t i = 0; trusted != NULL && i < ARRAY_LEN(TRUST); i++)
		if (find_var(TRUST[i].name) == NULL)
			add_default(n, TRUST[i].name, trust_file(i));
}

char **
envset_envp_with(const json_t *more, int64_t *seq)
{
	struct environment n = { .more = more };
	const char *name;
	size_t slots;
	char **envp, *at;
	json_t *v;

	lock_take(&lock);
	add_all(&n);
	*seq = last_seq;
	lock_drop(&lock);
	json_object_foreach((json_t *)(uintptr_t)more, name, v)
	{
		if (json_is_string(v))
			put_entry(&n, name, json_string_value(v));
	}
	slots = (n.count + 1) * sizeof(char *);
	envp = xmalloc(slots + n.text.len);
	at = (char *)envp + slots;
	memcpy(at, n.text.data, n.text.len);
	for (size_t i = 0; i < n.count; i++) {
		envp[i] = at;
		at += strlen(at) + 1;
	}
	envp[n.count] = NULL;
	buf_free(&n.text);
	return envp;
}

char **
envset_envp(int64_t *seq)
{
	return envset_envp_with(NULL, seq);
}

const char *
envset_find(char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return "";
}

int64_t
envset_number(const char *name, int64_t max)
{
	const struct var *v;
	int64_t n = 0;

	lock_take(&lock);
	v = find_var(name);
	if (v != NULL && v->value != NULL)
		(void)str_to_int(v->value, 1, max, &n);
	lock_drop(&lock);
	return n;
}
