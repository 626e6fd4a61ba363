/*
 * hello.c: passes on the handshake of TLS, as long as the client can still name
 * a server in it.
 *
 * A server may answer the first ClientHello with the request for another one
 * (HelloRetryRequest: RFC 8446, 4.1.4), whose name counts.  So no other message
 * of the handshake passes before the server's answer is known, and the second
 * hello is compared as the first one was.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "common/str.h"
#include "egress/base/sni.h"
#include "egress/serve/serve.h"

enum {
	HANDSHAKE = 0x16,
	RECORD_HEAD = 5,
	RANDOM_AT = RECORD_HEAD + 6, /* in a ServerHello */
	RANDOM_BYTES = 32,
	ALERT_ACCESS_DENIED = 49
};

/* The random bytes of a ServerHello that is a HelloRetryRequest. */
static const uint8_t RETRY[RANDOM_BYTES] = { 0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a,
	0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2,
	0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
	0x33, 0x9c };

enum hello
hello_check(struct conn *c, const char *data, size_t len,
    char name[NETWORK_HOST_MAX])
{
	enum sni_result r = sni_read((const uint8_t *)data, len, name);

	if (r == SNI_MORE)
		return HELLO_MORE;
	c->passing = sni_extent((const uint8_t *)data, len);
	if (!policy_checks_name(c->of, c->host))
		return HELLO_RIGHT;
	/* an address has no name that a client could send */
	if (r == SNI_FOUND ? str_equal(name, c->host)
			   : r == SNI_ABSENT && network_is_address(c->host))
		return HELLO_RIGHT;
	return HELLO_WRONG;
}

bool
hello_alert(struct conn *c)
{
	static const unsigned char ALERT[] = { 0x15, 3, 3, 0, 2, 2,
		ALERT_ACCESS_DENIED };

	return c->speaks == SPEAKS_TLS &&
	    side_write(&c->client, ALERT, sizeof(ALERT)) == 0;
}

/* The client cannot name another server any more. */
static void
become_raw(struct conn *c)
{
	side_wait_for(&c->client, 1);
	side_wait_for(&c->server, 1);
	c->client.tells_end = false;
	c->speaks = SPEAKS_RAW;
}

/* Bytes that have arrived, without taking them; 0: none yet. */
static ssize_t
peek(struct side *s, char *data, size_t size)
{
	ssize_t n = recv(s->fd, data, size, MSG_PEEK);

	if (n == 0)
		s->hung_up = true;
	return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : n;
}

static bool
has_ended(const struct side *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLRDHUP };

	return poll(&p, 1, 0) == 1;
}

/* Learns from the server's first bytes whether it wants another hello. */
static int
hear_server(struct conn *c)
{
	char *data = c->of->of->read_buffer;
	ssize_t n = peek(&c->server, data, RANDOM_AT + RANDOM_BYTES);

	if (n < 0)
		return -1;
	if (n == 0 && !c->server.hung_up)
		return 0;
	if (n == 0 || data[0] != HANDSHAKE) {
		become_raw(c);
		return 0;
	}
	if (n < RANDOM_AT + RANDOM_BYTES) {
		side_wait_for(&c->server, RANDOM_AT + RANDOM_BYTES);
		return has_ended(&c->server) ? -1 : 0;
	}
	side_wait_for(&c->server, 1);
	c->retries = memcmp(data + RANDOM_AT, RETRY, sizeof(RETRY)) == 0;
	if (!c->retries)
		become_raw(c);
	return 0;
}

/* The second hello has begun. */
static int
take_second(struct conn *c, const char *data, size_t len)
{
	char name[NETWORK_HOST_MAX];

	switch (hello_check(c, data, len, name)) {
	case HELLO_MORE:
		c->client.tells_end = true;
		side_wait_for(&c->client, len + 1);
		return c->client.hung_up ? -1 : 0;
	case HELLO_WRONG:
		conn_deny(c, DENY_SERVER_NAME, name[0] != '\0' ? name : NULL);
		return 0;
	case HELLO_RIGHT:
		become_raw(c);
		break;
	}
	return 0;
}

/* Looks at the client's next record: sets c->passing if it may pass. */
static int
next_record(struct conn *c)
{
	char *data = c->of->of->read_buffer;
	ssize_t n = peek(&c->client, data, SERVE_PEEK_MAX);

	c->held = false;
	if (n < 0)
		return -1;
	if (n == 0) {
		if (c->client.hung_up)
			become_raw(c);
		return 0;
	}
	if (data[0] == HANDSHAKE && c->retries)
		return take_second(c, data, (size_t)n);
	if (data[0] == HANDSHAKE) {
		c->held = true;
		return 0;
	}
	if (n < RECORD_HEAD) {
		c->client.tells_end = true;
		side_wait_for(&c->client, RECORD_HEAD);
		return c->client.hung_up ? -1 : 0;
	}
	side_wait_for(&c->client, 1);
	c->passing =
	    RECORD_HEAD + ((size_t)(uint8_t)data[3] << 8) + (uint8_t)data[4];
	return 0;
}

/* Passes what may pass; 1: all of it. */
static int
pass_some(struct conn *c)
{
	char *data = c->of->of->read_buffer;
	ssize_t n = side_read(&c->client, data,
	    c->passing < SERVE_READ_MAX ? c->passing : SERVE_READ_MAX);

	if (n < 0 || side_write(&c->server, data, (size_t)n) < 0)
		return -1;
	c->of->use.bytes_out += n;
	budget_take(c->of, (size_t)n);
	c->passing -= (size_t)n;
	if (c->client.ended)
		become_raw(c);
	return c->passing == 0 ? 1 : 0;
}

static bool
has_room(struct conn *c)
{
	return !side_pending(&c->server) && budget_left(c->of);
}

static int
pass_client(struct conn *c)
{
	while (c->speaks == SPEAKS_TLS && has_room(c)) {
		int rc = c->passing > 0 ? 1 : next_record(c);

		if (rc < 0 || c->of == NULL || c->leaving || c->passing == 0 ||
		    c->speaks != SPEAKS_TLS)
			return rc < 0 ? -1 : 0;
		rc = pass_some(c);
		if (rc <= 0)
			return rc;
	}
	return 0;
}

static int
step(struct conn *c)
{
	if (!relay_open(c))
		return 0;
	if (c->unchecked) {
		become_raw(c);
		return 0;
	}
	if (side_flush(&c->server) < 0 || (!c->retries && hear_server(c) < 0))
		return -1;
	if (c->retries && relay_down(c) < 0)
		return -1;
	return pass_client(c);
}

static bool
wants_client(struct conn *c)
{
	return c->upstream == UPSTREAM_OPEN && !c->held && has_room(c);
}

static bool
wants_server(struct conn *c)
{
	return !side_pending(&c->client) && budget_left(c->of);
}

/* Nothing of the server has passed but its request for another hello. */
static bool
refuse(struct conn *c, int status, const char *text)
{
	(void)status;
	(void)text;
	return hello_alert(c);
}

const struct protocol HELLO = { .step = step,
	.wants_client = wants_client,
	.wants_server = wants_server,
	.refuse = refuse };
