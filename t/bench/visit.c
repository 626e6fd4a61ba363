/* visit.c: sends many requests to the service at once, with little CPU time. */
#include "bench/visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum { ANSWER_MAX = 64 * 1024, TIMEOUT_MS = 90000, POLL_MS = 1000 };

int
place_open(struct place *p, struct err *e)
{
	const char *key = getenv("SANDLEASE_API_KEY");
	auto_free char *who = NULL;

	*p = (struct place){ .url = getenv("SANDLEASE_URL") };
	if (str_empty(p->url) || str_empty(key))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "SANDLEASE_URL and SANDLEASE_API_KEY must be set");
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "libcurl cannot start");
	who = xasprintf("Authorization: Bearer %s", key);
	p->headers = curl_slist_append(NULL, who);
	p->headers =
	    curl_slist_append(p->headers, "Content-Type: application/json");
	return 0;
}

void
place_close(struct place *p)
{
	curl_slist_free_all(p->headers);
	curl_global_cleanup();
}

static size_t
take(char *data, size_t size, size_t count, void *context)
{
	struct visit *v = context;

	if (v->answer.len + size * count > ANSWER_MAX)
		return 0;
	buf_add(&v->answer, data, size * count);
	return size * count;
}

void
visit_open(struct visit *v, const struct place *p)
{
	*v = (struct visit){ .easy = curl_easy_init() };
	if (v->easy == NULL)
		abort();
	curl_easy_setopt(v->easy, CURLOPT_PRIVATE, v);
	curl_easy_setopt(v->easy, CURLOPT_HTTPHEADER, p->headers);
	curl_easy_setopt(v->easy, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(v->easy, CURLOPT_WRITEDATA, v);
	curl_easy_setopt(v->easy, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
	curl_easy_setopt(v->easy, CURLOPT_NOSIGNAL, 1L);
}

void
visit_close(struct visit *v)
{
	curl_easy_cleanup(v->easy);
	buf_free(&v->answer);
}

void
visit_ask(struct visit *v, const struct place *p, const char *method,
    const char *path, const char *body)
{
	auto_free char *url = xasprintf("%s%s", p->url, path);

	curl_easy_setopt(v->easy, CURLOPT_URL, url);
	curl_easy_setopt(v->easy, CURLOPT_POSTFIELDS, body);
	if (body == NULL)
		curl_easy_setopt(v->easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(v->easy, CURLOPT_CUSTOMREQUEST, method);
}

void
visit_fail(struct visit *v, const char *what)
{
	v->failed = true;
	fprintf(stderr, "%s: %ld %.300s\n", what, v->status,
	    v->answer.len > 0 ? v->answer.data : "");
}

static void
send_now(CURLM *multi, struct visit *v)
{
	v->answer.len = 0;
	v->sent_us = clock_us();
	if (v->began_us == 0)
		v->began_us = v->sent_us;
	curl_multi_add_handle(multi, v->easy);
}

/* True when the visit goes on. */
static bool
take_answer(CURLM *multi, const CURLMsg *m, visit_fn *answered, void *context)
{
	CURLcode result = m->data.result;
	struct visit *v;

	curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &v);
	v->answered_us = clock_us();
	v->status = 0;
	curl_easy_getinfo(v->easy, CURLINFO_RESPONSE_CODE, &v->status);
	curl_multi_remove_handle(multi, v->easy);
	if (result != CURLE_OK) {
		visit_fail(v, curl_easy_strerror(result));
		return false;
	}
	if (!answered(v, context))
		return false;
	send_now(multi, v);
	return true;
}

static int
turn(CURLM *multi, struct visit *visits, size_t count, size_t at_once,
    visit_fn *answered, void *context)
{
	size_t next = 0, under_way = 0;
	CURLMsg *m;
	int n;

	while (next < count || under_way > 0) {
		for (; next < count && under_way < at_once; under_way++)
			send_now(multi, &visits[next++]);
		if (curl_multi_perform(multi, &n) != CURLM_OK)
			return -1;
		while ((m = curl_multi_info_read(multi, &n)) != NULL)
			if (m->msg == CURLMSG_DONE &&
			    !take_answer(multi, m, answered, context))
				under_way--;
		if (under_way > 0 &&
		    curl_multi_poll(multi, NULL, 0, POLL_MS, NULL) != CURLM_OK)
			return -1;
	}
	return 0;
}

int
visit_all(struct visit *visits, size_t count, size_t at_once,
    visit_fn *answered, void *context, struct err *e)
{
	CURLM *multi = curl_multi_init();
	int rc;

	if (multi == NULL)
		abort();
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)at_once);
	rc = turn(multi, visits, count, at_once, answered, context);
	curl_multi_cleanup(multi);
	return rc == 0
	    ? 0
	    : err_set(e, ERR_INTERNAL, CODE_INTERNAL, "libcurl gave up");
}
