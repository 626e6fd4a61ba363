/*
 * name_server.h: a name server on 127.0.0.1, in a thread, for resolver tests.
 *
 * The first label of the name in a query says how it is answered.
 */
#ifndef SANDLEASE_UNIT_NAME_SERVER_H
#define SANDLEASE_UNIT_NAME_SERVER_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <resolv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egress/base/dns.h"

enum { MANY_ADDRESSES = 40, SERVER_BYTES = 4096 };

struct name_server {
	int udp;
	int stop[2]; /* a pipe; the thread ends when it is closed */
	uint16_t port;
	pthread_t thread;
	atomic_int queries; /* that were received */
	char last[DNS_NAME_MAX];
};

struct server_answer {
	uint8_t bytes[SERVER_BYTES];
	size_t len;
	unsigned count;
};

static void
answer_add16(struct server_answer *a, unsigned value)
{
	ns_put16(value, a->bytes + a->len);
	a->len += 2;
}

static void
answer_add_name(struct server_answer *a, const char *name)
{
	int n = dn_comp(name, a->bytes + a->len,
	    (int)(sizeof(a->bytes) - a->len), NULL, NULL);

	a->len += n > 0 ? (size_t)n : 0;
}

static void
answer_add_record(struct server_answer *a, const char *owner, unsigned type,
    const char *value)
{
	struct server_answer data = { .len = 0 };

	if (type == ns_t_cname)
		answer_add_name(&data, value);
	else if (inet_pton(type == ns_t_a ? AF_INET : AF_INET6, value,
		     data.bytes) == 1)
		data.len = type == ns_t_a ? NS_INADDRSZ : NS_IN6ADDRSZ;
	answer_add_name(a, owner);
	answer_add16(a, type);
	answer_add16(a, ns_c_in);
	answer_add16(a, 0);
	answer_add16(a, DNS_TTL_S);
	answer_add16(a, (unsigned)data.len);
	memcpy(a->bytes + a->len, data.bytes, data.len);
	a->len += data.len;
	a->count++;
}

static bool
server_is(const struct dns_query *q, const char *label)
{
	return strncmp(q->name, label, strlen(label)) == 0;
}

static void
answer_add_many(struct server_answer *a, const struct dns_query *q)
{
	char text[32];

	for (int i = 1; i <= MANY_ADDRESSES && q->type == ns_t_a; i++) {
		snprintf(text, sizeof(text), "192.0.2.%d", i);
		answer_add_record(a, q->name, ns_t_a, text);
	}
}

/* The answer to a query; its length is 0 if there is none. */
static void
server_answer(struct name_server *s, const struct dns_query *q,
    struct server_answer *a)
{
	bool v4 = q->type == ns_t_a;
	bool wrong = server_is(q, "old") && q->edns;
	/* an answer that is too long for a client without EDNS */
	bool no_room = server_is(q, "big") && !q->edns;
	unsigned code = server_is(q, "none") ? ns_r_nxdomain
	    : server_is(q, "fail")           ? ns_r_servfail
	    : wrong                          ? ns_r_formerr
					     : ns_r_noerror;

	*a = (struct server_answer){ .len = 0 };
	if (server_is(q, "silent") ||
	    (server_is(q, "late") && atomic_load(&s->queries) <= 2))
		return;
	answer_add16(a, q->id);
	answer_add16(a,
	    0x8180 | code | (server_is(q, "long") || no_room ? 0x0200 : 0));
	answer_add16(a, 1);
	a->len = NS_HFIXEDSZ;
	answer_add_name(a, q->name);
	answer_add16(a, q->type);
	answer_add16(a, ns_c_in);
	if (server_is(q, "four") && v4)
		answer_add_record(a, q->name, ns_t_a, "192.0.2.4");
	if (server_is(q, "six") && !v4)
		answer_add_record(a, q->name, ns_t_aaaa, "2001:db8::6");
	if (server_is(q, "both") || server_is(q, "late") ||
	    server_is(q, "long") || (server_is(q, "old") && !wrong) ||
	    (server_is(q, "big") && !no_room))
		answer_add_record(a, q->name, q->type,
		    v4 ? "192.0.2.1" : "2001:db8::1");
	if (server_is(q, "mapped") && !v4)
		answer_add_record(a, q->name, ns_t_aaaa, "::ffff:127.0.0.1");
	if (server_is(q, "many"))
		answer_add_many(a, q);
	if (server_is(q, "chain")) {
		answer_add_record(a, q->name, ns_t_cname, "x.example");
		answer_add_record(a, "x.example", ns_t_cname, "y.example");
		answer_add_record(a, "y.example", q->type,
		    v4 ? "192.0.2.9" : "2001:db8::9");
	}
	if (server_is(q, "loop"))
		answer_add_record(a, q->name, ns_t_cname, q->name);
	ns_put16(a->count, a->bytes + 6);
	if (server_is(q, "cut"))
		a->len -= 3;
}

static void
server_note(struct name_server *s, const struct dns_query *q)
{
	snprintf(s->last, sizeof(s->last), "%s", q->name);
	atomic_fetch_add(&s->queries, 1);
}

static void
server_take(struct name_server *s)
{
	static struct server_answer a;
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint8_t query[SERVER_BYTES];
	struct dns_query q;
	ssize_t n = recvfrom(s->udp, query, sizeof(query), 0,
	    (struct sockaddr *)&from, &from_len);

	if (n < 0 || dns_query_read(query, (size_t)n, &q) != ns_r_noerror)
		return;
	server_note(s, &q);
	server_answer(s, &q, &a);
	if (server_is(&q, "forged")) {
		/* an answer to another query comes first */
		answer_add_record(&a, q.name, q.type,
		    q.type == ns_t_a ? "192.0.2.66" : "2001:db8::66");
		ns_put16(a.count, a.bytes + 6);
		ns_put16(q.id ^ 1U, a.bytes);
	}
	if (a.len > 0)
		sendto(s->udp, a.bytes, a.len, 0, (struct sockaddr *)&from,
		    from_len);
}

static void *
server_run(void *ctx)
{
	struct name_server *s = ctx;
	struct pollfd fds[] = { { s->stop[0], POLLIN, 0 },
		{ s->udp, POLLIN, 0 } };

	while (poll(fds, 2, -1) > 0 && fds[0].revents == 0)
		server_take(s);
	return NULL;
}

static void
name_server_start(struct name_server *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	*s = (struct name_server){ .queries = 0 };
	s->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->udp, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(s->udp, (struct sockaddr *)&a, &len), 0);
	s->port = ntohs(a.sin_port);
	assert_int_equal(pipe(s->stop), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static void
name_server_stop(struct name_server *s)
{
	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	close(s->stop[0]);
	close(s->udp);
}

#endif
