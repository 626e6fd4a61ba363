/* relay.c: passes bytes between a client and a server, unchanged. */
#include "egress/serve/serve.h"

enum {
	ROUNDS = 4, /* reads in a row before other connections get a turn */
	CROWDED_BYTES = 64 * 1024 /* of the only one, if there are many */
};

/* False: the client's first line was one of HTTP, and is denied. */
static bool
check_line(struct conn *c, const char *data, size_t len)
{
	enum line_kind is = line_read(&c->line, data, len);

	c->unsure = is == LINE_MORE;
	if (is == LINE_HTTP)
		conn_deny(c, DENY_BAD_REQUEST, NULL);
	return is != LINE_HTTP;
}

/* One read.  Bytes in TLS, or of a first line, are copied, others need not be. */
static ssize_t
move(struct conn *c, struct side *from, struct side *to)
{
	struct egress *g = c->of->of;
	bool looks = c->unsure && from == &c->client;
	size_t most = looks       ? SERVE_TURN_BYTES
	    : serve_is_crowded(g) ? CROWDED_BYTES
				  : SERVE_READ_MAX;
	ssize_t n;

	if (from->ssl == NULL && to->ssl == NULL && !looks)
		return side_move(from, to, g->pipe, most);
	n = side_read(from, g->read_buffer, most);
	if (n <= 0)
		return n;
	if (looks && !check_line(c, g->read_buffer, (size_t)n))
		return 0;
	return side_write(to, g->read_buffer, (size_t)n) < 0 ? -1 : n;
}

/* Passes bytes one way, and the end after the last of them. */
static int
pass(struct conn *c, struct side *from, struct side *to, int64_t *count)
{
	/* a line that is read costs more than bytes that only pass */
	int rounds = c->unsure || serve_is_crowded(c->of->of) ? 1 : ROUNDS;

	for (int i = 0; i < rounds; i++) {
		ssize_t n;

		if (side_pending(to) || !budget_left(c->of))
			return 0;
		n = move(c, from, to);
		if (c->of == NULL)
			return 0;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		*count += n;
		budget_take(c->of, (size_t)n);
	}
	return from->ended && !to->finishing ? side_finish(to) : 0;
}

int
relay_down(struct conn *c)
{
	if (side_flush(&c->client) < 0)
		return -1;
	return pass(c, &c->server, &c->client, &c->of->use.bytes_in);
}

static int
pass_both(struct conn *c)
{
	if (side_flush(&c->server) < 0 ||
	    pass(c, &c->client, &c->server, &c->of->use.bytes_out) < 0)
		return -1;
	return c->of == NULL ? 0 : relay_down(c);
}

bool
relay_open(struct conn *c)
{
	if (c->upstream == UPSTREAM_NONE && conn_count(c))
		upstream_connect(c);
	return c->of != NULL && c->upstream == UPSTREAM_OPEN;
}

static int
step(struct conn *c)
{
	return relay_open(c) ? pass_both(c) : 0;
}

static bool
wants_client(struct conn *c)
{
	return c->upstream == UPSTREAM_OPEN && !side_pending(&c->server) &&
	    budget_left(c->of);
}

static bool
wants_server(struct conn *c)
{
	return !side_pending(&c->client) && budget_left(c->of);
}

const struct protocol RELAY = { .step = step,
	.wants_client = wants_client,
	.wants_server = wants_server };
