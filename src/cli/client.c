/* client.c: the HTTP API, seen from outside. */
#include "cli/client.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { TIMEOUT_S = 70, ANSWER_MAX = 64 * 1024 * 1024 };

struct client {
	CURL *curl;
	char *url;
	char *auth; /* the header */
};

static void
release_headers(struct curl_slist **h)
{
	curl_slist_free_all(*h);
}

struct client *
client_new(struct err *e)
{
	const char *url = getenv("SANDLEASE_URL");
	const char *key = getenv("SANDLEASE_API_KEY");
	struct client *c;

	if (str_empty(url) || str_empty(key)) {
		err_set(e, ERR_INVALID, "usage",
		    "set SANDLEASE_URL and SANDLEASE_API_KEY (./dev up writes both to var/demo.env)");
		return NULL;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	c = xcalloc(1, sizeof(*c));
	c->curl = curl_easy_init();
	c->url = xstrdup(url);
	c->auth = xasprintf("Authorization: Bearer %s", key);
	return c;
}

void
client_free(struct client *c)
{
	curl_easy_cleanup(c->curl);
	curl_global_cleanup();
	free(c->url);
	free(c->auth);
	free(c);
}

static size_t
keep(char *data, size_t size, size_t count, void *to)
{
	struct buf *b = to;

	if (b->len + size * count > ANSWER_MAX)
		return 0;
	buf_add(b, data, size * count);
	return size * count;
}

static int
perform(struct client *c, const char *url, struct buf *out, long *status,
    struct err *e)
{
	CURLcode rc;

	curl_easy_setopt(c->curl, CURLOPT_URL, url);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, out);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	rc = curl_easy_perform(c->curl);
	if (rc != CURLE_OK)
		return err_set(e, ERR_UNAVAILABLE, "unreachable", "%s: %s", url,
		    curl_easy_strerror(rc));
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, status);
	if (out->data == NULL)
		buf_str(out, "");
	return 0;
}

/* Both dresses of an error have words for people. */
static int
explain(const struct buf *answer, long status, struct err *e)
{
	auto_json json_t *j = json_loadb(answer->data, answer->len, 0, NULL);
	const char *words = json_str(j, "detail");

	if (words[0] == '\0')
		words = json_str(j, "message");
	return err_set(e, status >= 500 ? ERR_UNAVAILABLE : ERR_INVALID,
	    "refused", "%ld %s", status,
	    words[0] != '\0' ? words : "without a reason");
}

int
client_call(struct client *c, const char *method, const char *path,
    const json_t *body, json_t **out, struct err *e)
{
	__attribute__((cleanup(release_headers))) struct curl_slist *h = NULL;
	auto_buf struct buf answer = { 0 };
	auto_free char *url = xasprintf("%s%s", c->url, path);
	auto_free char *text = body != NULL ? json_text(body) : NULL;
	long status = 0;

	curl_easy_reset(c->curl);
	h = curl_slist_append(h, c->auth);
	h = curl_slist_append(h, "Content-Type: application/json");
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, h);
	curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
	if (text != NULL)
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, text);
	if (perform(c, url, &answer, &status, e) < 0)
		return -1;
	if (status >= 400)
		return explain(&answer, status, e);
	if (out != NULL)
		*out = json_loadb(answer.data, answer.len, 0, NULL);
	return 0;
}

int
client_fetch(struct client *c, const char *url, struct buf *out, long *status,
    struct err *e)
{
	curl_easy_reset(c->curl);
	return perform(c, url, out, status, e);
}
