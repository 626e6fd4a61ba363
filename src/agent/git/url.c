/* url.c: parses a repository's URL and hides its secrets. */
#include "agent/git/url.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

/* Users of this length are tokens; "x-access-token" and others are shorter. */
enum { USER_IS_TOKEN = 16 };

static const char HIDDEN[] = "******";

/* ---- parsing */

static int
refuse(struct err *e, const char *why)
{
	return err_set(e, ERR_INVALID, CODE_INVALID_GIT_URL, "repoUrl: %s",
	    why);
}

static bool
is_clean(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	return true;
}

static int
hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The character at s, percent-decoded; *len is the bytes it takes at s. */
static char
char_at(const char *s, const char *end, size_t *len)
{
	*len = 1;
	if (end - s < 3 || s[0] != '%' || hex(s[1]) < 0 || hex(s[2]) < 0)
		return s[0];
	*len = 3;
	return (char)(hex(s[1]) << 4 | hex(s[2]));
}

/*
 * Percent-decodes s.  False for characters that git's credential protocol
 * cannot carry: NUL and line breaks.
 */
static bool
percent_decode(const char *s, const char *end, char out[GIT_URL_MAX])
{
	size_t n = 0, len;

	for (; s < end; s += len) {
		out[n] = char_at(s, end, &len);
		if (out[n] == '\0' || out[n] == '\n' || out[n] == '\r')
			return false;
		n++;
	}
	out[n] = '\0';
	return true;
}

/*
 * Splits http://user:password@host/path.  u->plain is the URL without user and
 * password, u->origin the server that may get these.
 */
static int
split_user(struct git_url *u, const char *host, struct err *e)
{
	const char *end = host + strcspn(host, "/?#");
	const char *at = memrchr(host, '@', (size_t)(end - host));
	const char *colon;
	size_t scheme = (size_t)(host - u->given);

	if (at == NULL)
		return 0;
	colon = memchr(host, ':', (size_t)(at - host));
	if (!percent_decode(host, colon != NULL ? colon : at, u->user) ||
	    (colon != NULL && !percent_decode(colon + 1, at, u->password)))
		return refuse(e,
		    "user and password must not contain line breaks");
	memcpy(u->origin, u->given, scheme);
	memcpy(u->origin + scheme, at + 1, (size_t)(end - at - 1));
	memcpy(u->plain, u->given, scheme);
	str_copy(u->plain + scheme, GIT_URL_MAX - scheme, at + 1);
	return 0;
}

static int
read_url(struct git_url *u, const char *host, struct err *e)
{
	static const char *const SCHEMES[] = { "https", "http", "ssh", "git",
		"file" };
	size_t len = (size_t)(host - u->given) - 3, i = 0;

	while (i < ARRAY_LEN(SCHEMES) &&
	    (strlen(SCHEMES[i]) != len ||
		strncasecmp(SCHEMES[i], u->given, len) != 0))
		i++;
	if (i == ARRAY_LEN(SCHEMES))
		return refuse(e, "must be http, https, ssh, git or file");
	if (strchr("?#", host[0]) != NULL) /* also true for host[0] == 0 */
		return refuse(e, "names no repository");
	return i < 2 ? split_user(u, host, e) : 0;
}

/* [user@]host:path; a colon after a slash is part of a path. */
static bool
is_host_and_path(const char *s)
{
	size_t n = strcspn(s, ":/");

	return n > 0 && s[n] == ':' && s[n + 1] != '\0' && s[n + 1] != ':';
}

static bool
is_path(const char *s)
{
	return s[0] == '/' || str_starts(s, "./") || str_starts(s, "../");
}

int
git_url_read(const char *text, struct git_url *out, struct err *e)
{
	const char *scheme_end;

	*out = (struct git_url){ 0 };
	if (text[0] == '\0' || !str_copy(out->given, GIT_URL_MAX, text))
		return refuse(e, "must have 1 to 2048 bytes");
	if (text[0] == '-')
		return refuse(e, "must not begin with '-'");
	str_copy(out->plain, GIT_URL_MAX, text);
	if (is_path(text))
		return 0;
	if (!is_clean(text))
		return refuse(e, "must not have spaces or control characters");
	scheme_end = strstr(out->given, "://");
	if (scheme_end != NULL && scheme_end > out->given)
		return read_url(out, scheme_end + 3, e);
	if (!is_host_and_path(text))
		return refuse(e, "is neither a URL nor host:path nor a path");
	return 0;
}

void
git_url_name(const struct git_url *u, char out[GIT_NAME_MAX])
{
	const char *end = u->plain + strlen(u->plain), *begin;
	size_t len;

	if (strstr(u->plain, "://") != NULL)
		end = u->plain + strcspn(u->plain, "?#");
	while (end > u->plain && end[-1] == '/')
		end--;
	if (end - u->plain > 4 && memcmp(end - 4, ".git", 4) == 0)
		end -= 4;
	while (end > u->plain && end[-1] == '/') /* repo/.git */
		end--;
	for (begin = end;
	     begin > u->plain && begin[-1] != '/' && begin[-1] != ':';)
		begin--;
	len = (size_t)(end - begin);
	if (len >= GIT_NAME_MAX)
		len = utf8_whole(begin, GIT_NAME_MAX - 1);
	memcpy(out, begin, len);
	out[len] = '\0';
	if (len == 0 || str_equal(out, ".") || str_equal(out, ".."))
		str_copy(out, GIT_NAME_MAX, "repository");
}

/* ---- hiding secrets */

/*
 * Length of the secret at s, where each byte may be percent-encoded; 0: the
 * secret is not at s.
 */
static size_t
match_secret(const char *s, const char *end, const char *secret)
{
	const char *from = s;

	for (; *secret != '\0'; secret++) {
		size_t len;

		if (s >= end)
			return 0;
		if (char_at(s, end, &len) != *secret) {
			len = 1; /* the secret itself contains "%40" */
			if (*s != *secret)
				return 0;
		}
		s += len;
	}
	return (size_t)(s - from);
}

/* Length of "user:password" if s, after "://", has that and "@"; else 0. */
static size_t
userinfo_at(const char *s, const char *end, bool http)
{
	const char *p = s, *at = NULL;
	bool colon = false;

	for (; p < end && strchr("/ \t\r\n'\"?#", *p) == NULL; p++) {
		if (*p == '@')
			at = p;
		if (*p == ':' && at == NULL)
			colon = true;
	}
	/* the user in ssh://git@host is no secret */
	return at != NULL && (http || colon) ? (size_t)(at - s) : 0;
}

static bool
is_http(const char *text, const char *colon)
{
	return (colon - text >= 4 && strncasecmp(colon - 4, "http", 4) == 0) ||
	    (colon - text >= 5 && strncasecmp(colon - 5, "https", 5) == 0);
}

/*
 * Iterates over the values of the URL's query.  `last` is NULL at first, then
 * the previous result; NULL at the end.
 */
static const char *
query_value(const struct git_url *u, const char *last, char out[GIT_URL_MAX])
{
	const char *p = last, *end;

	if (p == NULL && strstr(u->given, "://") != NULL)
		p = strchr(u->given, '?');
	if (p == NULL || *p == '\0')
		return NULL;
	p++;
	end = p + strcspn(p, "&;#");
	if (memchr(p, '=', (size_t)(end - p)) != NULL)
		p = strchr(p, '=') + 1;
	if (!percent_decode(p, end, out))
		out[0] = '\0';
	return *end == '#' ? "" : end;
}

static size_t
match_query(const struct git_url *u, const char *s, const char *end)
{
	auto_free char *value = xmalloc(GIT_URL_MAX);
	const char *p = NULL;
	size_t n = 0;

	while (n == 0 && (p = query_value(u, p, value)) != NULL)
		n = value[0] != '\0' ? match_secret(s, end, value) : 0;
	return n;
}

static size_t
secret_at(const struct git_url *u, bool asks, const char *s, const char *end)
{
	bool token = u->password[0] == '\0' || strlen(u->user) >= USER_IS_TOKEN;
	size_t n = 0;

	if (u->password[0] != '\0')
		n = match_secret(s, end, u->password);
	if (n == 0 && u->user[0] != '\0' && token)
		n = match_secret(s, end, u->user);
	return n == 0 && asks ? match_query(u, s, end) : n;
}

void
git_url_redact(const struct git_url *u, const char *text, size_t len,
    struct buf *to)
{
	const char *s = text, *end = text + len;
	bool asks = strchr(u->given, '?') != NULL;

	while (s < end) {
		size_t n = 0;

		if (s - text >= 3 && memcmp(s - 3, "://", 3) == 0)
			n = userinfo_at(s, end, is_http(text, s - 3));
		if (n == 0)
			n = secret_at(u, asks, s, end);
		if (n > 0)
			buf_str(to, HIDDEN);
		else
			buf_add(to, s, n = 1);
		s += n;
	}
}

static void
percent_encode(const char *s, struct buf *to)
{
	for (; *s != '\0'; s++) {
		if (isalnum((unsigned char)*s) || strchr("-._~", *s) != NULL)
			buf_add(to, s, 1);
		else
			buf_fmt(to, "%%%02X", (unsigned char)*s);
	}
}

void
git_url_userinfo(const struct git_url *u, struct buf *to)
{
	if (u->user[0] == '\0' && u->password[0] == '\0')
		return;
	percent_encode(u->user, to);
	if (u->password[0] != '\0') {
		buf_str(to, ":");
		percent_encode(u->password, to);
	}
	buf_str(to, "@");
}
