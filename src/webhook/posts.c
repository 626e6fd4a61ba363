/* posts.c: sends several HTTP requests at once, with libcurl. */
#include "webhook/posts.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	CONNECT_MS = 5000,
	ANSWER_MAX = 64 * 1024,
	HTTP_FIRST_FINAL = 200 /* a status below it is not the last one */
};

/* One request that is under way. */
struct transfer {
	TAILQ_ENTRY(transfer) link;
	struct posts *of;
	char id[ID_MAX];
	int64_t attempt;
	CURL *curl;
	struct curl_slist *headers;
	char *body;
	size_t received;
	bool refused; /* an address was refused */
	bool ended;
	CURLcode code;
};

struct posts {
	CURLM *multi;
	struct address_list exceptions;
	TAILQ_HEAD(transfers, transfer) all;
	size_t count;
};

static int
curl_failed(const char *what, const char *why, struct err *e)
{
	return err_set(e, ERR_INTERNAL, CODE_INTERNAL, "libcurl: %s: %s", what,
	    why);
}

int
posts_open(const struct address_list *exceptions, struct posts **out,
    struct err *e)
{
	struct posts *p;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return curl_failed("curl_global_init", "failed", e);
	p = xcalloc(1, sizeof(*p));
	p->exceptions = *exceptions;
	TAILQ_INIT(&p->all);
	p->multi = curl_multi_init();
	if (p->multi == NULL) {
		free(p);
		return curl_failed("curl_multi_init", "failed", e);
	}
	*out = p;
	return 0;
}

static void
forget(struct transfer *t)
{
	struct posts *p = t->of;

	curl_multi_remove_handle(p->multi, t->curl);
	curl_easy_cleanup(t->curl);
	curl_slist_free_all(t->headers);
	TAILQ_REMOVE(&p->all, t, link);
	p->count--;
	free(t->body);
	free(t);
}

void
posts_close(struct posts *p)
{
	if (p == NULL)
		return;
	while (!TAILQ_EMPTY(&p->all))
		forget(TAILQ_FIRST(&p->all));
	curl_multi_cleanup(p->multi);
	free(p);
}

size_t
posts_count(const struct posts *p)
{
	return p->count;
}

/* ---- one request */

/*
 * libcurl asks for a socket for each address that it is about to connect to.
 * So the check is made for the address itself, whatever the name resolved to
 * before.
 */
static curl_socket_t
open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct transfer *t = ctx;
	struct sockaddr_storage at = { 0 };
	struct address a;

	(void)purpose;
	if (to->addrlen > sizeof(at))
		return CURL_SOCKET_BAD;
	memcpy(&at, &to->addr, to->addrlen);
	if (at.ss_family == AF_INET)
		address_from(AF_INET, &((struct sockaddr_in *)&at)->sin_addr,
		    &a);
	else if (at.ss_family == AF_INET6)
		address_from(AF_INET6, &((struct sockaddr_in6 *)&at)->sin6_addr,
		    &a);
	else
		return CURL_SOCKET_BAD;
	if (!address_may_connect(&a, &t->of->exceptions)) {
		t->refused = true;
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Throws the answer away, and ends the request when there is too much of it. */
static size_t
discard(char *data, size_t size, size_t count, void *ctx)
{
	struct transfer *t = ctx;

	(void)data;
	t->received += size * count;
	return t->received <= ANSWER_MAX ? size * count : 0;
}

#define SET(option, value)                                                     \
	do {                                                                   \
		CURLcode rc_ = curl_easy_setopt(t->curl, option, value);       \
		if (rc_ != CURLE_OK)                                           \
			return curl_failed(#option, curl_easy_strerror(rc_),   \
			    e);                                                \
	} while (0)

static int
set_options(struct transfer *t, const struct post *what, struct err *e)
{
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_URL, what->url);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, ""); /* also none of the environment */
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_USERAGENT, "Sandlease/" PACKAGE_VERSION);
	SET(CURLOPT_HTTPHEADER, t->headers);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(t->body));
	SET(CURLOPT_POSTFIELDS, t->body);
	SET(CURLOPT_WRITEFUNCTION, discard);
	SET(CURLOPT_WRITEDATA, t);
	SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
	SET(CURLOPT_OPENSOCKETDATA, t);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)what->timeout_ms);
	SET(CURLOPT_NOSIGNAL, 1L);
	/* a name server that is silent must not hold up the other requests */
	SET(CURLOPT_QUICK_EXIT, 1L);
	/* a connection and a looked-up address belong to one tenant's request */
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_DNS_CACHE_TIMEOUT, 0L);
	SET(CURLOPT_PRIVATE, t);
	return 0;
}

static int
add_headers(struct transfer *t, const struct post *what, struct err *e)
{
	/* without a value: libcurl would wait for the server's consent */
	t->headers = curl_slist_append(NULL, "Expect:");
	for (const char *const *h = what->headers; *h != NULL; h++) {
		struct curl_slist *more = curl_slist_append(t->headers, *h);

		if (more == NULL)
			return curl_failed("curl_slist_append", "failed", e);
		t->headers = more;
	}
	return 0;
}

int
posts_begin(struct posts *p, const struct post *what, struct err *e)
{
	struct transfer *t = xcalloc(1, sizeof(*t));
	CURLMcode rc;

	t->of = p;
	t->attempt = what->attempt;
	t->body = xstrdup(what->body);
	str_copy(t->id, sizeof(t->id), what->id);
	t->curl = curl_easy_init();
	TAILQ_INSERT_TAIL(&p->all, t, link);
	p->count++;
	if (add_headers(t, what, e) < 0 || set_options(t, what, e) < 0) {
		forget(t);
		return -1;
	}
	rc = curl_multi_add_handle(p->multi, t->curl);
	if (rc != CURLM_OK) {
		forget(t);
		return curl_failed("curl_multi_add_handle",
		    curl_multi_strerror(rc), e);
	}
	return 0;
}

/* ---- all of them */

/* Notes which requests have ended; true: at least one has. */
static bool
note_ended(struct posts *p)
{
	bool any = false;
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(p->multi, &left)) != NULL) {
		char *ctx = NULL;
		struct transfer *t;

		if (m->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &ctx);
		t = (struct transfer *)(void *)ctx;
		t->code = m->data.result;
		t->ended = any = true;
	}
	return any;
}

int
posts_wait(struct posts *p, int fd, int64_t ms, struct err *e)
{
	int64_t until_ms = clock_ms() + ms;

	for (;;) {
		struct curl_waitfd w = { .fd = fd, .events = CURL_WAIT_POLLIN };
		CURLMcode rc;
		int running;

		rc = curl_multi_perform(p->multi, &running);
		if (rc != CURLM_OK)
			return curl_failed("curl_multi_perform",
			    curl_multi_strerror(rc), e);
		if (note_ended(p) || clock_left_ms(until_ms) == 0)
			return 0;
		rc = curl_multi_poll(p->multi, &w, fd >= 0 ? 1 : 0,
		    clock_left_ms(until_ms), NULL);
		if (rc != CURLM_OK)
			return curl_failed("curl_multi_poll",
			    curl_multi_strerror(rc), e);
		if (w.revents != 0)
			until_ms = clock_ms();
	}
}

/*
 * The reason for a tenant.  No more than a class of reasons: libcurl's own
 * texts name addresses, which would tell how names of this site resolve here.
 */
static const char *
reason(const struct transfer *t)
{
	static const struct {
		CURLcode code;
		const char *text;
	} REASONS[] = {
		{ CURLE_COULDNT_RESOLVE_HOST, "the name cannot be resolved" },
		{ CURLE_COULDNT_CONNECT, "the server cannot be reached" },
		{ CURLE_OPERATION_TIMEDOUT, "there was no answer in time" },
		{ CURLE_GOT_NOTHING, "the server closed the connection" },
		{ CURLE_SEND_ERROR, "the server closed the connection" },
		{ CURLE_RECV_ERROR, "the server closed the connection" },
		{ CURLE_PEER_FAILED_VERIFICATION,
		    "the server's certificate is not valid" },
		{ CURLE_SSL_CONNECT_ERROR, "TLS failed" },
	};

	if (t->refused && t->code == CURLE_COULDNT_CONNECT)
		return "its address is not public";
	for (size_t i = 0; i < ARRAY_LEN(REASONS); i++)
		if (REASONS[i].code == t->code)
			return REASONS[i].text;
	return "the answer is not one of HTTP";
}

static void
tell_end(const struct transfer *t, struct post_end *out)
{
	long status = 0;

	*out = (struct post_end){ .attempt = t->attempt };
	str_copy(out->id, sizeof(out->id), t->id);
	if (!t->ended)
		return;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	/* a final status counts, also if the rest of the answer is missing */
	if (status >= HTTP_FIRST_FINAL)
		out->status = (int)status;
	else
		out->error = reason(t);
}

static bool
take(struct posts *p, bool ended, struct post_end *out)
{
	struct transfer *t;

	for (t = TAILQ_FIRST(&p->all); t != NULL; t = TAILQ_NEXT(t, link))
		if (t->ended == ended)
			break;
	if (t == NULL)
		return false;
	tell_end(t, out);
	forget(t);
	return true;
}

bool
posts_take_ended(struct posts *p, struct post_end *out)
{
	return take(p, true, out);
}

bool
posts_take_open(struct posts *p, struct post_end *out)
{
	return take(p, false, out);
}
