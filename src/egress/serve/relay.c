/* relay.c: passes bytes between a client and a server, unchanged. */
#include "egress/serve/serve.h"

enum { ROUNDS = 4 }; /* reads in a row before other connections get a turn */

/* One read.  Bytes in TLS are copied, others need not be. */
static ssize_t
move(struct egress *g, struct side *from, struct side *to)
{
	ssize_t n;

	if (from->ssl == NULL && to->ssl == NULL)
		return side_move(from, to, g->pipe, SERVE_READ_MAX);
	n = side_read(from, g->read_buffer, sizeof(g->read_buffer));
	return n > 0 && side_write(to, g->read_buffer, (size_t)n) < 0 ? -1 : n;
}

/* Passes bytes one way, and the end after the last of them. */
static int
pass(struct conn *c, struct side *from, struct side *to, int64_t *count)
{
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n;

		if (side_pending(to) || !budget_left(c->of))
			return 0;
		n = move(c->of->of, from, to);
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
	return relay_down(c);
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
