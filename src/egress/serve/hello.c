/*
 * hello.c: passes on the handshake of TLS, as long as the client can still name
 * a server in it.
 *
 * A server may answer the first ClientHello with the request for another one
 * (HelloRetryRequest: RFC 8446, 4.1.4), whose name counts.  So no other message
 * of the handshake passes before the server's answer is known, and the second
 * hello is compared as the first one was.
 */
#include <string.h>

#include "common/str.h"
#include "egress/base/sni.h"
#include "egress/serve/serve.h"

enum {
	CHANGE_CIPHER = 0x14, /* types of records */
	ALERT = 0x15,
	HANDSHAKE = 0x16,
	DATA = 0x17,
	RECORD_HEAD = 5,
	RANDOM_AT = RECORD_HEAD + 6, /* in a ServerHello */
	RANDOM_BYTES = 32,
	ROUNDS = 8,       /* reads in a row */
	HELLO_MS = 60000, /* for all that comes before the name is certain */
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
	static const unsigned char DENIED[] = { ALERT, 3, 3, 0, 2, 2,
		ALERT_ACCESS_DENIED };

	return c->speaks == SPEAKS_TLS &&
	    side_write(&c->client, DENIED, sizeof(DENIED)) == 0;
}

/* ---- records; a step returns 1: go on, 0: not now, -1: broken */

static size_t
record_length(const struct buf *b)
{
	const uint8_t *head = (const uint8_t *)b->data;

	return (size_t)head[3] << 8 | head[4];
}

static int
type_of(const struct buf *b)
{
	return b->len > 0 ? (uint8_t)b->data[0] : -1;
}

/* Passes on what was read, and forgets it. */
static int
pass_begun(struct buf *b, struct side *to)
{
	int rc = b->len > 0 ? side_write(to, b->data, b->len) : 0;

	buf_free(b);
	return rc;
}

/* The client cannot name another server any more. */
static int
become_raw(struct conn *c)
{
	loop_clear(&c->of->of->loop, &c->timer);
	c->client.tells_end = c->held = false;
	c->speaks = SPEAKS_RAW;
	return pass_begun(&c->begun, &c->server) < 0 ||
		pass_begun(&c->heard, &c->client) < 0
	    ? -1
	    : 0;
}

/* Reads until `b` has so many bytes. */
static int
read_until(struct conn *c, struct side *from, struct buf *b, size_t len)
{
	char *data = c->of->of->read_buffer;
	ssize_t n;

	if (b->len >= len)
		return 1;
	n = side_read(from, data, len - b->len);
	if (n <= 0)
		return (int)n;
	buf_add(b, data, (size_t)n);
	budget_take(c->of, (size_t)n);
	*(from == &c->client ? &c->of->use.bytes_out : &c->of->use.bytes_in) +=
	    n;
	return b->len >= len;
}

/* ---- the server's answer */

/* Looks at its next record, which passes when its kind is known. */
static int
hear_record(struct conn *c)
{
	struct buf *b = &c->heard;
	int rc = read_until(c, &c->server, b, RECORD_HEAD);

	if (rc <= 0)
		return rc < 0 || !c->server.ended ? rc : become_raw(c);
	/* a warning may come first */
	if (type_of(b) == ALERT || type_of(b) == CHANGE_CIPHER) {
		rc = read_until(c, &c->server, b,
		    RECORD_HEAD + record_length(b));
		if (rc == 0 && c->server.ended)
			return become_raw(c);
		return rc == 1 && pass_begun(b, &c->client) < 0 ? -1 : rc;
	}
	if (type_of(b) != HANDSHAKE)
		return become_raw(c);
	rc = read_until(c, &c->server, b, RANDOM_AT + RANDOM_BYTES);
	if (rc <= 0)
		return rc < 0 || !c->server.ended ? rc : -1;
	c->retries = memcmp(b->data + RANDOM_AT, RETRY, sizeof(RETRY)) == 0;
	return c->retries ? pass_begun(b, &c->client) : become_raw(c);
}

static int
hear_server(struct conn *c)
{
	int rc = 1;

	for (int i = 0; rc == 1 && i < ROUNDS; i++) {
		if (c->retries || side_pending(&c->client) ||
		    !budget_left(c->of))
			return 0;
		rc = hear_record(c);
	}
	return rc < 0 ? -1 : 0;
}

/* ---- the client's records */

static int
deny_name(struct conn *c, const char *name)
{
	c->passing = 0;
	conn_deny(c, DENY_SERVER_NAME, name[0] != '\0' ? name : NULL);
	return 0;
}

/* The second hello has begun. */
static int
take_second(struct conn *c)
{
	struct buf *b = &c->begun;
	char name[NETWORK_HOST_MAX];
	int rc = read_until(c, &c->client, b, SERVE_PEEK_MAX);

	if (rc < 0)
		return -1;
	switch (hello_check(c, b->data, b->len, name)) {
	case HELLO_MORE:
		return c->client.ended ? -1 : rc == 1 ? deny_name(c, name) : 0;
	case HELLO_WRONG:
		return deny_name(c, name);
	case HELLO_RIGHT:
		break;
	}
	return become_raw(c);
}

/* Looks at the client's next record: sets c->passing if it may pass. */
static int
take_record(struct conn *c)
{
	struct buf *b = &c->begun;
	int rc = read_until(c, &c->client, b, RECORD_HEAD);

	if (rc < 0)
		return -1;
	c->held = type_of(b) == HANDSHAKE && !c->retries;
	if (c->held) {
		c->client.tells_end = true;
		return 0;
	}
	if (type_of(b) == HANDSHAKE)
		return take_second(c);
	if (rc == 0)
		return c->client.ended ? become_raw(c) : 0;
	if (type_of(b) != DATA && type_of(b) != ALERT &&
	    type_of(b) != CHANGE_CIPHER)
		return deny_name(c, "");
	c->passing = record_length(b);
	return pass_begun(b, &c->server) < 0 ? -1 : 1;
}

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
		return become_raw(c);
	return n > 0;
}

static bool
has_room(struct conn *c)
{
	return !side_pending(&c->server) && budget_left(c->of);
}

static int
pass_client(struct conn *c)
{
	for (int i = 0; i < ROUNDS; i++) {
		int rc;

		if (c->speaks != SPEAKS_TLS || !has_room(c))
			return 0;
		rc = c->passing > 0 ? pass_some(c) : take_record(c);
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
	if (c->unchecked)
		return become_raw(c);
	if (c->timer.index == 0)
		conn_give_up_after(c, HELLO_MS);
	if (side_flush(&c->server) < 0 || side_flush(&c->client) < 0 ||
	    hear_server(c) < 0)
		return -1;
	if (c->speaks == SPEAKS_TLS && c->retries && relay_down(c) < 0)
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
