/* outcome.c: explains to the user why an HTTP call failed. */
#include "cli/http/outcome.h"

#include <string.h>

#include "common/json.h"
#include "common/mem.h"

/* ---- errors of curl */

/* OpenSSL's text for an answer in plain HTTP does not help the user. */
static int
explain_tls(const struct outcome *o, struct err *e)
{
	if (strstr(o->why, "wrong version number") != NULL)
		return err_set(e, ERR_UNAVAILABLE, CODE_UNTRUSTED,
		    "%.100s does not speak TLS: a service without it has a URL that begins with http://",
		    o->service);
	return err_set(e, ERR_UNAVAILABLE, CODE_UNTRUSTED,
	    "no secure connection to %.100s: %.100s", o->service, o->why);
}

/* A URL of another server, such as a preview: SANDLEASE_URL is not to blame. */
static int
explain_elsewhere(const struct outcome *o, struct err *e)
{
	static const struct {
		CURLcode rc;
		enum err_code code;
	} MEANINGS[] = {
		{ CURLE_COULDNT_RESOLVE_HOST, CODE_UNRESOLVED },
		{ CURLE_COULDNT_CONNECT, CODE_UNREACHABLE },
		{ CURLE_PEER_FAILED_VERIFICATION, CODE_UNTRUSTED },
		{ CURLE_SSL_CONNECT_ERROR, CODE_UNTRUSTED },
	};
	enum err_code code = CODE_BROKEN;

	for (size_t i = 0; i < ARRAY_LEN(MEANINGS); i++)
		if (MEANINGS[i].rc == o->step)
			code = MEANINGS[i].code;
	if (code == CODE_UNRESOLVED) /* curl's text repeats the host */
		return err_set(e, ERR_UNAVAILABLE, code,
		    "%.200s: the host has no address", o->url);
	return err_set(e, ERR_UNAVAILABLE, code, "%.140s: %.100s", o->url,
	    o->why);
}

static int
explain_curl(const struct outcome *o, struct err *e)
{
	if (!o->ours)
		return explain_elsewhere(o, e);
	switch ((int)o->rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return err_set(e, ERR_UNAVAILABLE, CODE_UNREACHABLE,
		    "%.80s cannot be reached (%.80s): does it run, and is SANDLEASE_URL right?",
		    o->service, o->why);
	case CURLE_PEER_FAILED_VERIFICATION:
		return err_set(e, ERR_UNAVAILABLE, CODE_UNTRUSTED,
		    "the certificate of %.80s cannot be trusted: %.100s",
		    o->service, o->why);
	case CURLE_OPERATION_TIMEDOUT:
		return err_set(e, ERR_UNAVAILABLE, CODE_BROKEN,
		    "%.100s does not answer", o->service);
	case CURLE_SSL_CONNECT_ERROR:
		return explain_tls(o, e);
	default:
		return err_set(e, ERR_UNAVAILABLE, CODE_BROKEN,
		    "%.100s: %.140s", o->service, o->why);
	}
}

/* ---- answers that are no success */

static enum err_kind
kind_of(long status)
{
	return status == 404 ? ERR_NOT_FOUND
	    : status == 401  ? ERR_UNAUTHENTICATED
	    : status >= 500  ? ERR_UNAVAILABLE
			     : ERR_INVALID;
}

static void
keep_context(const json_t *context, struct err *e)
{
	auto_free char *text = context != NULL ? json_text(context) : NULL;

	if (text != NULL)
		str_copy(e->more, sizeof(e->more), text);
}

/* An error in no format of Sandlease: the URL may be of another server. */
static int
explain_page(const struct outcome *o, struct err *e)
{
	const char *page = o->answer->len > 0 ? o->answer->data : "";

	if (o->status == 400 && strstr(page, "HTTPS port") != NULL)
		return err_set(e, ERR_BAD_GATEWAY, CODE_REFUSED,
		    "%.100s wants TLS: its URL begins with https://",
		    o->service);
	return err_set(e, kind_of(o->status), CODE_REFUSED,
	    "%.100s answers %ld, but not as a Sandlease service does: is it the URL of the service, and not of its previews or of a page?",
	    o->service, o->status);
}

/* True for "https://host/path". */
static bool
has_path(const char *url)
{
	const char *host = strstr(url, "://");

	return host != NULL && strchr(host + 3, '/') != NULL;
}

/*
 * The error formats (problem+json, SDK, preview) have the text in different
 * members: "detail", "message", "error".
 */
static int
explain_refusal(const struct outcome *o, struct err *e)
{
	auto_json json_t *j = o->answer->len > 0
	    ? json_loadb(o->answer->data, o->answer->len, 0, NULL)
	    : NULL;
	const char *words = json_str(j, "detail");

	if (words[0] == '\0')
		words = json_str(j, "message");
	if (words[0] == '\0')
		words = json_str(j, "error");
	if (words[0] == '\0' && o->status < 500 && o->ours)
		return explain_page(o, e);
	if (o->status == 401)
		err_set(e, ERR_UNAUTHENTICATED, CODE_REFUSED,
		    "%.80s does not take this API key: is SANDLEASE_API_KEY, or the profile, right and meant for this service?",
		    o->service);
	else
		err_set(e, kind_of(o->status), CODE_REFUSED,
		    "%.400s (%ld%s%.40s)%s",
		    words[0] != '\0' ? words : "refused without a reason",
		    o->status, json_str(j, "code")[0] != '\0' ? " " : "",
		    json_str(j, "code"),
		    o->status == 404 && has_path(o->service)
			? "; the URL of the service has a path: is that right?"
			: "");
	str_copy(e->field, sizeof(e->field), json_str(j, "code"));
	keep_context(json_object_get(j, "context"), e);
	return -1;
}

/* Another server answers: the service itself never redirects. */
static int
explain_redirect(const struct outcome *o, struct err *e)
{
	return err_set(e, ERR_BAD_GATEWAY, CODE_REDIRECTED,
	    "%.80s answers %ld to %s %.80s: is SANDLEASE_URL right?",
	    o->service, o->status, o->method != NULL ? o->method : "GET",
	    o->path);
}

int
outcome_explain(const struct outcome *o, struct err *e)
{
	/* first: a server may refuse a body before curl has sent all of it */
	if (o->status >= 400)
		return explain_refusal(o, e);
	if (o->ours && o->status >= 300)
		return explain_redirect(o, e);
	if (o->rc != CURLE_OK)
		return explain_curl(o, e);
	if (o->ours && o->status < 200)
		return explain_redirect(o, e);
	return 0;
}
