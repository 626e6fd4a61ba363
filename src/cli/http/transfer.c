/* transfer.c: runs HTTP calls side by side, by libcurl's multi interface. */
#include "cli/http/transfer.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http/outcome.h"
#include "cli/interrupts.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	CONNECT_S = 10,
	TRY_S = 3,     /* a shell that completes a word must not hang longer */
	ANSWER_S = 75, /* the service may take a minute to answer */
	SILENT_S = 60, /* a live stream has a heartbeat more often */
	ANSWER_MAX = 64 * 1024 * 1024,
	FDS_MAX = 4,
	TURN_MS = 1000,
	UPLOAD_BYTES = 256 * 1024
};

struct client {
	struct config config;
	char *auth; /* the header Authorization; NULL: no key */
	CURLM *multi;
	bool tries_once; /* see client_try() */
	int signals;     /* see client_heed() */
	int stopped;     /* the signal that came; 0: none */
	bool stirred;    /* a sink got bytes since the last client_wait() */
};

struct transfer {
	struct client *client;
	struct request request;
	CURL *easy;
	struct curl_slist *headers;
	char *url, *text;
	struct buf answer;
	char why[CURL_ERROR_SIZE];
	long status;
	CURLcode rc;
	bool done, attached;
};

/* ---- the client */

struct client *
client_new(struct config *config)
{
	struct client *c = xcalloc(1, sizeof(*c));

	curl_global_init(CURL_GLOBAL_DEFAULT);
	c->config = *config;
	*config = (struct config){ 0 };
	if (!str_empty(c->config.key))
		c->auth = xasprintf("Authorization: Bearer %s", c->config.key);
	c->multi = curl_multi_init();
	c->signals = -1;
	return c;
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	curl_multi_cleanup(c->multi);
	curl_global_cleanup();
	free(c->auth);
	config_free(&c->config);
	free(c);
}

const char *
client_url(const struct client *c)
{
	return c->config.url;
}

const char *
client_key(const struct client *c)
{
	return c->config.key;
}

const char *
client_profile(const struct client *c)
{
	return c->config.profile;
}

void
client_try(struct client *c)
{
	c->tries_once = true;
}

bool
client_tries(const struct client *c)
{
	return c->tries_once;
}

void
client_heed(struct client *c, int signals)
{
	c->signals = signals;
	c->stopped = 0;
}

int
client_stopped(const struct client *c)
{
	return c->stopped;
}

/* ---- callbacks and options of curl */

static size_t
collect_answer(char *data, size_t size, size_t count, void *ctx)
{
	struct transfer *t = ctx;
	size_t len = size * count;

	if (t->status == 0)
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->status);
	if (t->request.sink != NULL && t->status < 300) {
		t->client->stirred = true;
		return t->request.sink(t->request.ctx, data, len) ? len : 0;
	}
	if (t->answer.len + len > ANSWER_MAX)
		return 0;
	buf_add(&t->answer, data, len);
	return len;
}

static size_t
give_body(char *to, size_t size, size_t count, void *ctx)
{
	const struct transfer *t = ctx;
	ssize_t n = t->request.read(t->request.ctx, to, size * count);

	if (n == TRANSFER_LATER)
		return CURL_READFUNC_PAUSE;
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

static int
tell_progress(void *ctx, curl_off_t down_all, curl_off_t down,
    curl_off_t up_all, curl_off_t up)
{
	const struct transfer *t = ctx;
	bool sends = t->request.read != NULL;

	t->request.progress(t->request.progress_ctx, sends ? up : down,
	    sends ? up_all : down_all);
	return 0;
}

static void
set_body(struct transfer *t)
{
	const struct request *r = &t->request;

	if (r->json != NULL) {
		t->text = json_text(r->json);
		t->headers = curl_slist_append(t->headers,
		    "Content-Type: application/json");
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->text);
	} else if (r->bytes != NULL) {
		t->headers = curl_slist_append(t->headers,
		    "Content-Type: application/octet-stream");
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE,
		    (curl_off_t)r->len);
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, r->bytes);
	} else if (r->read != NULL) {
		t->headers = curl_slist_append(t->headers,
		    "Content-Type: application/octet-stream");
		curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(t->easy, CURLOPT_UPLOAD_BUFFERSIZE,
		    (long)UPLOAD_BYTES);
		curl_easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE,
		    (curl_off_t)r->read_size);
		curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, give_body);
		curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
	}
	/* no "Expect: 100-continue": send the body at once */
	t->headers = curl_slist_append(t->headers, "Expect:");
	if (r->method != NULL)
		curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static void
set_patience(struct transfer *t)
{
	const struct request *r = &t->request;

	curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	if (t->client->tries_once) {
		curl_easy_setopt(t->easy, CURLOPT_TIMEOUT, (long)TRY_S);
	} else if (r->endless) {
		curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
		curl_easy_setopt(t->easy, CURLOPT_LOW_SPEED_TIME,
		    (long)SILENT_S);
	} else {
		curl_easy_setopt(t->easy, CURLOPT_TIMEOUT,
		    r->deadline_s > 0 ? (long)r->deadline_s : (long)ANSWER_S);
	}
}

struct transfer *
transfer_begin(struct client *c, const struct request *r)
{
	struct transfer *t = xcalloc(1, sizeof(*t));

	t->client = c;
	t->request = *r;
	t->easy = curl_easy_init();
	t->url = r->url != NULL ? xstrdup(r->url)
				: xasprintf("%s%s", c->config.url, r->path);
	if (r->url == NULL && c->auth != NULL)
		t->headers = curl_slist_append(t->headers, c->auth);
	if (c->tries_once)
		t->headers =
		    curl_slist_append(t->headers, "X-Sandlease-Probe: 1");
	if (r->header != NULL)
		t->headers = curl_slist_append(t->headers, r->header);
	set_body(t);
	set_patience(t);
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
	curl_easy_setopt(t->easy, CURLOPT_URL, t->url);
	curl_easy_setopt(t->easy, CURLOPT_USERAGENT,
	    "sandlease/" PACKAGE_VERSION);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->why);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, collect_answer);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	if (r->progress != NULL) {
		curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);
		curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION,
		    tell_progress);
		curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
	}
	curl_multi_add_handle(c->multi, t->easy);
	t->attached = true;
	return t;
}

/* ---- waiting */

static void
detach(struct transfer *t)
{
	if (t->attached)
		curl_multi_remove_handle(t->client->multi, t->easy);
	t->attached = false;
}

/* Marks finished transfers; true if one has finished or a sink got bytes. */
static bool
collect_done(struct client *c)
{
	bool found = c->stirred;
	CURLMsg *m;
	int left;

	c->stirred = false;

	while ((m = curl_multi_info_read(c->multi, &left)) != NULL) {
		struct transfer *t = NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
		t->rc = m->data.result;
		curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->status);
		t->done = true;
		found = true;
	}
	return found;
}

void
client_wait(struct client *c, struct pollfd *fds, size_t count, int ms)
{
	int64_t end = clock_ms() + ms;
	struct curl_waitfd w[FDS_MAX] = { 0 };
	int running, ready;
	bool over;

	for (size_t i = 0; i < count && i < FDS_MAX; i++) {
		/* curl's bits are those of poll(2) */
		w[i].fd = fds[i].fd;
		w[i].events = fds[i].events;
	}
	do {
		curl_multi_perform(c->multi, &running);
		over = collect_done(c);
		/* if it is over, this only polls the descriptors */
		curl_multi_poll(c->multi, w, (unsigned)count,
		    over         ? 0
			: ms < 0 ? TURN_MS
				 : clock_left_ms(end),
		    &ready);
		for (size_t i = 0; i < count; i++) {
			fds[i].revents = w[i].revents;
			over = over || w[i].revents != 0;
		}
	} while (!over && (ms < 0 || clock_left_ms(end) > 0));
}

void
client_finish(struct client *c, struct transfer *t, bool asks)
{
	struct pollfd fds[] = { { c->signals, POLLIN, 0 } };
	bool heeds = asks && c->signals >= 0;

	while (!transfer_done(t) && (!heeds || c->stopped == 0)) {
		client_wait(c, fds, heeds ? 1 : 0, -1);
		if (heeds && fds[0].revents != 0)
			c->stopped = interrupts_end(c->signals);
	}
}

int
client_sooner(int a_ms, int b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/* ---- results */

bool
transfer_refused(const struct err *e, enum err_code code)
{
	return e->code == CODE_REFUSED && code_parse(e->field) == code;
}

void
transfer_go_on(struct transfer *t)
{
	if (!t->done)
		curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

bool
transfer_done(const struct transfer *t)
{
	return t->done;
}

long
transfer_status(const struct transfer *t)
{
	return t->status;
}

const char *
transfer_header(const struct transfer *t, const char *name)
{
	struct curl_header *h;

	if (curl_easy_header(t->easy, name, 0, CURLH_HEADER, -1, &h) !=
	    CURLHE_OK)
		return "";
	return h->value;
}

/* The step that failed.  If the network drops packets, curl only reports a
 * timeout; the times say whether it was in the lookup or in connect(). */
static CURLcode
failed_step(const struct transfer *t)
{
	curl_off_t resolved = 0, connected = 0;

	if (t->rc != CURLE_OPERATION_TIMEDOUT)
		return t->rc;
	curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &resolved);
	curl_easy_getinfo(t->easy, CURLINFO_CONNECT_TIME_T, &connected);
	return resolved == 0 ? CURLE_COULDNT_RESOLVE_HOST
	    : connected == 0 ? CURLE_COULDNT_CONNECT
			     : t->rc;
}

int
transfer_result(struct transfer *t, struct buf *answer, struct err *e)
{
	const struct outcome o = { .service = t->client->config.url,
		.url = t->url,
		.ours = t->request.url == NULL,
		.method = t->request.method,
		.path = t->request.path,
		.status = t->status,
		.answer = &t->answer,
		.rc = t->rc,
		.step = failed_step(t),
		.why = t->why[0] != '\0' ? t->why : curl_easy_strerror(t->rc) };

	detach(t);
	if (outcome_explain(&o, e) < 0)
		return -1;
	if (answer != NULL) {
		buf_free(answer);
		*answer = t->answer;
		t->answer = (struct buf){ 0 };
	}
	return 0;
}

void
transfer_free(struct transfer *t)
{
	if (t == NULL)
		return;
	detach(t);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	buf_free(&t->answer);
	free(t->url);
	free(t->text);
	free(t);
}
