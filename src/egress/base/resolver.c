/* resolver.c: resolves names on the host, without blocking the loop. */
#include "egress/base/resolver.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

enum {
	SERVERS_MAX = 8,
	TIMEOUT_MS = 2000,
	TRIES = 3,
	/*
	 * A longer answer is cut, and used as it is: asking again by TCP would
	 * take a connection for every name that a tenant made too long.
	 */
	ANSWER_BYTES = 1232,
	MS_PER_S = 1000,
	QUIET_MS = 60 * 1000
};

TAILQ_HEAD(query_list, resolver_query);
TAILQ_HEAD(lookup_list, lookup);

/* A socket of c-ares. */
struct ares_watch {
	struct loop_watch watch; /* first: cast in on_ready() */
	struct lookup *of;
};

/*
 * A question to the servers.  All who ask for the name wait for its answer, so
 * that a client that asks and goes away, again and again, leaves one question.
 *
 * Each has a channel of c-ares of its own: a channel remembers what a server
 * could not do, and one name that is answered wrongly on purpose would change
 * how the names of all other tenants are asked for.
 */
struct lookup {
	TAILQ_ENTRY(lookup) link;
	struct resolver *of;
	struct loop *loop;
	struct query_list waiters;
	ares_channel channel;
	struct loop_timer timer; /* c-ares asks again then */
	struct ares_watch sockets[SERVERS_MAX];
	char by[RESOLVER_BY_MAX]; /* the first asker */
	char host[NETWORK_HOST_MAX];
};

struct resolver {
	struct lookup_list lookups; /* under way */
	int64_t quiet_until_ms;     /* a failure is not told before */
	struct loop *loop;
	struct buf servers; /* in the form of c-ares; none: the machine's */
};

struct resolver_query {
	TAILQ_ENTRY(resolver_query) link;
	struct lookup *of;
	resolved_fn *done;
	void *ctx;
	struct resolver_query **owner; /* set to NULL when it is over */
};

static struct lookup *
lookup_of(struct loop_timer *t)
{
	return (struct lookup *)(void *)((char *)t -
	    offsetof(struct lookup, timer));
}

static void
set_timer(struct lookup *l)
{
	struct timeval t;

	if (ares_timeout(l->channel, NULL, &t) == NULL)
		loop_clear(l->loop, &l->timer);
	else
		loop_set(l->loop, &l->timer,
		    clock_ms() + t.tv_sec * MS_PER_S + t.tv_usec / 1000 + 1);
}

static void
on_ready(struct loop_watch *w, uint32_t events)
{
	struct ares_watch *a = (struct ares_watch *)(void *)w;
	int fd = w->fd;

	ares_process_fd(a->of->channel,
	    (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ? fd
							    : ARES_SOCKET_BAD,
	    (events & EPOLLOUT) != 0 ? fd : ARES_SOCKET_BAD);
	set_timer(a->of);
}

static void
on_time(struct loop_timer *t)
{
	struct lookup *l = lookup_of(t);

	ares_process_fd(l->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(l);
}

/* c-ares says for which events of a socket it waits; none: it is closed. */
static void
on_socket(void *ctx, ares_socket_t fd, int readable, int writable)
{
	struct lookup *l = ctx;
	uint32_t events = (readable ? (uint32_t)EPOLLIN : 0) |
	    (writable ? (uint32_t)EPOLLOUT : 0);
	struct ares_watch *unused = NULL;

	for (size_t i = 0; i < SERVERS_MAX; i++) {
		struct ares_watch *a = &l->sockets[i];

		if (a->watch.events != 0 && a->watch.fd == fd) {
			(void)!loop_watch(l->loop, &a->watch, fd, events);
			return;
		}
		if (a->watch.events == 0)
			unused = a;
	}
	/* without a watch the query ends by its time */
	if (unused != NULL && events != 0)
		(void)!loop_watch(l->loop, &unused->watch, fd, events);
}

static int
open_channel(const struct resolver *r, struct lookup *l)
{
	char lookups[] = "b"; /* only the servers, not /etc/hosts */
	/* ARES_FLAG_NOSEARCH is not enough: ares_getaddrinfo() ignores it */
	struct ares_options o = { .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_EDNS |
		    ARES_FLAG_IGNTC,
		.ednspsz = ANSWER_BYTES,
		.ndomains = 0,
		.timeout = TIMEOUT_MS,
		.tries = TRIES,
		.sock_state_cb = on_socket,
		.sock_state_cb_data = l,
		.lookups = lookups };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_SOCK_STATE_CB | ARES_OPT_DOMAINS | ARES_OPT_EDNSPSZ;
	int rc;

	if (r->servers.len > 0)
		mask |= ARES_OPT_LOOKUPS;
	rc = ares_init_options(&l->channel, &o, mask);
	if (rc != ARES_SUCCESS) {
		l->channel = NULL;
		return rc;
	}
	return r->servers.len > 0
	    ? ares_set_servers_ports_csv(l->channel, r->servers.data)
	    : ARES_SUCCESS;
}

/* A lookup of nothing yet; its channel is open unless *rc says why not. */
static struct lookup *
lookup_new(struct resolver *r, int *rc)
{
	struct lookup *l = xcalloc(1, sizeof(*l));

	l->of = r;
	l->loop = r->loop;
	l->timer.fire = on_time;
	TAILQ_INIT(&l->waiters);
	for (size_t i = 0; i < SERVERS_MAX; i++)
		l->sockets[i] =
		    (struct ares_watch){ .watch = { .ready = on_ready,
					     .fd = -1 },
			    .of = l };
	*rc = open_channel(r, l);
	return l;
}

/* Calls on_result() if the answer was not there yet. */
static void
close_channel(struct lookup *l)
{
	ares_channel c = TAKE(l->channel);

	loop_clear(l->loop, &l->timer);
	if (c != NULL)
		ares_destroy(c);
}

static void
lookup_free(void *lookup)
{
	close_channel(lookup);
	free(lookup);
}

/*
 * Writes "127.0.0.1, [::1]:53" in the form of c-ares, which would take any
 * number for a port.
 */
static bool
read_servers(const char *servers, struct buf *out)
{
	auto_free char *copy = xstrdup(servers);
	char *save = NULL;
	size_t count = 0;

	for (char *word = strtok_r(copy, ", ", &save); word != NULL;
	     word = strtok_r(NULL, ", ", &save)) {
		struct network_rule r;
		const char *why;
		bool v6;

		if (++count > SERVERS_MAX ||
		    network_rule_parse(word, &r, &why) < 0 ||
		    !network_is_address(r.host))
			return false;
		v6 = strchr(r.host, ':') != NULL;
		buf_fmt(out, "%s%s%s%s:%d", out->len > 0 ? "," : "",
		    v6 ? "[" : "", r.host, v6 ? "]" : "",
		    r.port != 0 ? r.port : NS_DEFAULTPORT);
	}
	return count > 0;
}

int
resolver_open(struct loop *l, const char *servers, struct resolver **out,
    struct err *e)
{
	struct resolver *r = xcalloc(1, sizeof(*r));
	int rc = ares_library_init(ARES_LIB_INIT_ALL);

	r->loop = l;
	TAILQ_INIT(&r->lookups);
	if (servers[0] != '\0' && !read_servers(servers, &r->servers))
		rc = ARES_EBADSTR;
	if (rc == ARES_SUCCESS)
		lookup_free(lookup_new(r, &rc)); /* can names be asked for? */
	if (rc == ARES_SUCCESS) {
		*out = r;
		return 0;
	}
	resolver_close(r);
	return rc == ARES_EBADSTR
	    ? err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		  "egress_resolver: must be up to %d addresses, such as 10.0.0.53, [fd00::53]:5353",
		  SERVERS_MAX)
	    : err_set(e, ERR_INVALID, CODE_BAD_SETTING, "egress_resolver: %s",
		  ares_strerror(rc));
}

void
resolver_close(struct resolver *r)
{
	while (!TAILQ_EMPTY(&r->lookups))
		close_channel(TAILQ_FIRST(&r->lookups));
	buf_free(&r->servers);
	free(r);
}

/* ---- queries */

static void
finish_query(struct resolver_query *q, const struct resolved *r)
{
	resolved_fn *done = q->done;
	void *ctx = q->ctx;

	*q->owner = NULL;
	free(q);
	done(ctx, r);
}

static bool
copy_address(const struct sockaddr *from, struct address *to)
{
	const struct sockaddr_in *v4 = (const void *)from;
	const struct sockaddr_in6 *v6 = (const void *)from;

	if (from->sa_family == AF_INET)
		address_from(AF_INET, &v4->sin_addr, to);
	else if (from->sa_family == AF_INET6)
		address_from(AF_INET6, &v6->sin6_addr, to);
	else
		return false;
	return true;
}

/* Tells an operator, not too often, that the servers do not do their work. */
static void
complain(struct lookup *l, int status)
{
	struct resolver *r = l->of;
	int64_t now = clock_ms();

	if ((status != ARES_ETIMEOUT && status != ARES_ECONNREFUSED &&
		status != ARES_ESERVFAIL && status != ARES_EFILE) ||
	    now < r->quiet_until_ms)
		return;
	r->quiet_until_ms = now + QUIET_MS;
	log_line(LOG_WARN, "resolver",
	    "%s does not resolve: %s; see egress_resolver", l->host,
	    ares_strerror(status));
}

static void
on_result(void *ctx, int status, int timeouts, struct ares_addrinfo *info)
{
	struct resolved r = { .status = RESOLVE_FAILED };
	struct lookup *l = ctx;
	struct resolver_query *q;

	(void)timeouts;
	complain(l, status);
	if (status == ARES_ENOTFOUND || status == ARES_ENODATA ||
	    status == ARES_EBADNAME)
		r.status = RESOLVE_NO_NAME;
	if (status == ARES_SUCCESS) {
		const struct ares_addrinfo_node *n = info->nodes;

		for (; n != NULL && r.count < RESOLVED_MAX; n = n->ai_next)
			if (copy_address(n->ai_addr, &r.list[r.count]))
				r.count++;
		r.status = r.count > 0 ? RESOLVE_OK : RESOLVE_NO_NAME;
	}
	if (info != NULL)
		ares_freeaddrinfo(info);
	TAILQ_REMOVE(&l->of->lookups, l, link);
	/* done() may cancel another one of them */
	while ((q = TAILQ_FIRST(&l->waiters)) != NULL) {
		TAILQ_REMOVE(&l->waiters, q, link);
		finish_query(q, &r);
	}
	loop_bury(l->loop, l, lookup_free); /* c-ares still uses its channel */
}

static struct lookup *
find_lookup(struct resolver *r, const char *host)
{
	struct lookup *l = TAILQ_FIRST(&r->lookups);

	while (l != NULL && !str_equal(l->host, host))
		l = TAILQ_NEXT(l, link);
	return l;
}

static bool
has_too_many(const struct resolver *r, const char *by)
{
	const struct lookup *l = TAILQ_FIRST(&r->lookups);
	size_t count = 0;

	for (; l != NULL; l = TAILQ_NEXT(l, link))
		if (str_equal(l->by, by))
			count++;
	return count >= RESOLVER_OWN_MAX;
}

/* Asks the servers; `q` is the first who waits for the answer. */
static void
begin_lookup(struct resolver *r, const char *by, const char *host,
    struct resolver_query *q)
{
	const struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM };
	int rc;
	struct lookup *l = lookup_new(r, &rc);

	q->of = l;
	str_copy(l->by, sizeof(l->by), by);
	str_copy(l->host, sizeof(l->host), host);
	TAILQ_INSERT_TAIL(&r->lookups, l, link);
	TAILQ_INSERT_TAIL(&l->waiters, q, link);
	if (rc != ARES_SUCCESS) {
		on_result(l, rc, 0, NULL);
		return;
	}
	ares_getaddrinfo(l->channel, host, NULL, &hints, on_result, l);
	set_timer(l);
}

void
resolver_ask(struct resolver *r, const char *by, const char *host,
    resolved_fn *done, void *ctx, struct resolver_query **query)
{
	struct resolver_query *q = xcalloc(1, sizeof(*q));
	struct resolved known = { .status = RESOLVE_OK, .count = 1 };

	*q = (struct resolver_query){ .done = done,
		.ctx = ctx,
		.owner = query,
		.of = find_lookup(r, host) };
	*query = q;
	if (address_parse(host, &known.list[0])) {
		finish_query(q, &known);
	} else if (q->of != NULL) {
		TAILQ_INSERT_TAIL(&q->of->waiters, q, link);
	} else if (has_too_many(r, by)) {
		known = (struct resolved){ .status = RESOLVE_BUSY };
		finish_query(q, &known);
	} else {
		begin_lookup(r, by, host, q);
	}
}

void
resolver_cancel(struct resolver_query **query)
{
	struct resolver_query *q = *query;

	if (q == NULL)
		return;
	TAILQ_REMOVE(&q->of->waiters, q, link);
	free(q);
	*query = NULL;
}
