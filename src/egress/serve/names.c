/*
 * names.c: the resolver of a sandbox: answers with stand-ins.
 *
 * A name that is not allowed does not exist, and nothing is asked outside.  One
 * that is allowed must exist: the host's resolver is asked, and its answer
 * decides between a stand-in and "no such name".  Other types than A have empty
 * answers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/base/dns.h"
#include "egress/serve/serve.h"

enum {
	DATAGRAMS = 64,   /* in a row */
	LOOKUPS_MAX = 64, /* of a session at once */
	STREAM_MS = 10000,
	LENGTH_BYTES = 2,
	STREAM_BYTES = LENGTH_BYTES + DNS_QUERY_MAX,
	SAME_MS = 2000 /* a second denial of the same name is not told */
};

/* A question, until it is answered. */
struct lookup {
	struct loop_watch watch; /* first: of `stream` */
	TAILQ_ENTRY(lookup) link;
	struct loop_timer timer;
	struct session *of;
	struct resolver_query *query;
	struct dns_query asked;
	char host[NETWORK_HOST_MAX];
	/* where the answer goes: a datagram, or the stream */
	int socket; /* borrowed, of the listener */
	struct sockaddr_storage client;
	socklen_t client_len;
	int stream;  /* owned; -1: a datagram */
	uint8_t *in; /* owned; of a stream, STREAM_BYTES */
	size_t in_len;
};

static void stream_next(struct lookup *q);

/* ---- the life of a question */

static struct lookup *
lookup_new(struct listener *l)
{
	struct session *s = l->of;
	struct lookup *q = xcalloc(1, sizeof(*q));

	q->of = s;
	q->socket = l->fd;
	q->stream = -1;
	q->watch.fd = -1;
	TAILQ_INSERT_TAIL(&s->lookups, q, link);
	s->lookup_count++;
	return q;
}

static void
lookup_release(void *owner)
{
	struct lookup *q = owner;

	free(q->in);
	free(q);
}

static void
lookup_end(struct lookup *q)
{
	struct session *s = q->of;
	struct egress *g = s->of;

	resolver_cancel(&q->query);
	loop_clear(&g->loop, &q->timer);
	loop_forget(&g->loop, &q->watch);
	mem_close_fd(&q->stream);
	TAILQ_REMOVE(&s->lookups, q, link);
	s->lookup_count--;
	loop_bury(&g->loop, q, lookup_release);
}

void
names_end(struct session *s)
{
	while (!TAILQ_EMPTY(&s->lookups))
		lookup_end(TAILQ_FIRST(&s->lookups));
}

/* ---- answers */

/* An answer that the client does not take is lost; it will ask again. */
static void
answer(struct lookup *q, int code, const struct in_addr *a,
    const struct dns_reason *why)
{
	uint8_t out[LENGTH_BYTES + DNS_ANSWER_MAX];
	size_t len =
	    dns_answer_write(&q->asked, code, a, why, out + LENGTH_BYTES);

	if (q->stream < 0) {
		(void)!sendto(q->socket, out + LENGTH_BYTES, len,
		    MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&q->client,
		    q->client_len);
		lookup_end(q);
		return;
	}
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
	/* a new connection has room for it */
	if (send(q->stream, out, LENGTH_BYTES + len, MSG_NOSIGNAL) !=
	    (ssize_t)(LENGTH_BYTES + len))
		lookup_end(q);
}

/* Programs ask for A and AAAA at once: one denial is told. */
static void
deny_name(struct lookup *q, enum denial why)
{
	struct session *s = q->of;
	const char *name = q->host[0] != '\0' ? q->host : q->asked.name;
	char text[SERVE_TEXT_MAX];
	int64_t now = clock_ms();

	denial_text(why, q->host, text);
	if (now >= s->last_name_ms + SAME_MS ||
	    strncasecmp(s->last_name, name, sizeof(s->last_name) - 1) != 0) {
		deny(s, why, name, 0, "dns");
		str_copy(s->last_name, sizeof(s->last_name), name);
		s->last_name_ms = now;
	} else {
		s->use.denied++;
	}
	answer(q, ns_r_nxdomain, NULL,
	    &(struct dns_reason){ DNS_PROHIBITED, text });
}

/* The name is allowed, but the host's servers have no address for it. */
static void
answer_failed(struct lookup *q, enum resolve_status status)
{
	char text[SERVE_TEXT_MAX];

	failure_text(q->host, failure_to_resolve(status), text);
	answer(q, status == RESOLVE_NO_NAME ? ns_r_nxdomain : ns_r_servfail,
	    NULL, &(struct dns_reason){ DNS_OTHER, text });
}

static void
answer_resolved(struct lookup *q, const struct resolved *r)
{
	const struct in_addr *a;

	if (r->status != RESOLVE_OK) {
		answer_failed(q, r->status);
		return;
	}
	a = standin_of(&q->of->standins, q->host);
	if (a == NULL)
		deny_name(q, DENY_TOO_MANY_NAMES);
	else
		answer(q, ns_r_noerror, a, NULL);
}

static void
on_resolved(void *ctx, const struct resolved *r)
{
	struct lookup *q = ctx;

	answer_resolved(q, r);
	if (q->stream >= 0) /* the lookup has not ended */
		stream_next(q);
}

/* ---- questions */

/* Names for addresses: programs ask for them in passing. */
static bool
is_reverse(const char *host)
{
	static const char END[] = ".arpa";
	size_t len = strlen(host);

	return len > sizeof(END) - 1 &&
	    str_equal(host + len - (sizeof(END) - 1), END);
}

static void
handle(struct lookup *q, const uint8_t *msg, size_t len)
{
	struct session *s = q->of;
	int code = dns_query_read(msg, len, &q->asked);

	if (code < 0) {
		lookup_end(q);
		return;
	}
	if (code != ns_r_noerror) {
		answer(q, code, NULL, NULL);
		return;
	}
	q->host[0] = '\0';
	if (!network_host(q->asked.name, strlen(q->asked.name), q->host) ||
	    network_is_address(q->host))
		deny_name(q, DENY_BAD_NAME);
	else if (is_reverse(q->host))
		answer(q, ns_r_nxdomain, NULL, NULL);
	else if (!policy_allows_host(s, q->host))
		deny_name(q, policy_denial(s, q->host, 0));
	else if (q->asked.type != ns_t_a)
		answer(q, ns_r_noerror, NULL, NULL);
	else if (s->lookup_count > LOOKUPS_MAX)
		answer_failed(q, RESOLVE_BUSY);
	else if (s->of->via_host[0] != '\0') /* the site's proxy resolves */
		answer_resolved(q, &(struct resolved){ .status = RESOLVE_OK });
	else
		resolver_ask(s->of->resolver, s->tenant, q->host, on_resolved,
		    q, &q->query);
}

void
names_datagram(struct listener *l)
{
	uint8_t msg[DNS_QUERY_MAX];

	for (int i = 0; i < DATAGRAMS; i++) {
		struct sockaddr_storage from;
		socklen_t from_len = sizeof(from);
		ssize_t n = recvfrom(l->fd, msg, sizeof(msg), MSG_DONTWAIT,
		    (struct sockaddr *)&from, &from_len);
		struct lookup *q;

		if (n < 0)
			return;
		q = lookup_new(l);
		q->client = from;
		q->client_len = from_len;
		handle(q, msg, (size_t)n);
	}
}

/* ---- streams: one question after the other */

static void
on_stream_time(struct loop_timer *t)
{
	lookup_end((struct lookup *)(void *)((char *)t -
	    offsetof(struct lookup, timer)));
}

/*
 * Answers the questions that have arrived, one after the other; the stream is
 * not read while one is under way.  Programs send two at once.
 */
static void
stream_next(struct lookup *q)
{
	struct loop *loop = &q->of->of->loop;
	uint8_t msg[DNS_QUERY_MAX];

	while (q->stream >= 0 && q->query == NULL) {
		size_t len = q->in_len < LENGTH_BYTES
		    ? DNS_QUERY_MAX
		    : ((size_t)q->in[0] << 8) + q->in[1];

		if (len > DNS_QUERY_MAX) {
			lookup_end(q);
			return;
		}
		if (q->in_len < LENGTH_BYTES + len) {
			if (loop_watch(loop, &q->watch, q->stream, EPOLLIN) < 0)
				lookup_end(q);
			return;
		}
		memcpy(msg, q->in + LENGTH_BYTES, len);
		q->in_len -= LENGTH_BYTES + len;
		memmove(q->in, q->in + LENGTH_BYTES + len, q->in_len);
		handle(q, msg, len);
	}
	if (q->stream >= 0)
		loop_forget(loop, &q->watch);
}

static void
on_stream(struct loop_watch *w, uint32_t events)
{
	struct lookup *q = (struct lookup *)(void *)w;
	ssize_t n =
	    recv(q->stream, q->in + q->in_len, STREAM_BYTES - q->in_len, 0);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		lookup_end(q);
		return;
	}
	q->in_len += (size_t)n;
	stream_next(q);
}

void
names_stream(struct listener *l)
{
	int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct lookup *q;

	if (fd < 0) {
		if (channel_accept_must_pause(errno))
			listener_pause(l);
		return;
	}
	if (l->of->lookup_count >= LOOKUPS_MAX) {
		close(fd);
		return;
	}
	q = lookup_new(l);
	q->stream = fd;
	q->in = xmalloc(STREAM_BYTES);
	q->watch.ready = on_stream;
	q->timer.fire = on_stream_time;
	loop_set(&l->of->of->loop, &q->timer, clock_ms() + STREAM_MS);
	stream_next(q);
}
