/*
 * look.c: looks at a client's first bytes, without taking them.
 *
 * Where a list of names is enforced, the name must be the one that the client
 * tells the server: in TLS the server name, in HTTP the header Host.  Else a
 * server with many names would give access to all of them.
 */
#include <ctype.h>
#include <errno.h>
#include <sys/socket.h>

#include "egress/serve/serve.h"
#include "web/http_request.h"

enum {
	TLS_CHANGE_CIPHER = 0x14, /* types of records, and their length */
	TLS_CHANGE_CIPHER_BYTES = 1,
	TLS_ALERT = 0x15,
	TLS_ALERT_BYTES = 2,
	TLS_HANDSHAKE = 0x16,
	TLS_CLIENT_HELLO =
	    1,              /* type of a message, the first byte of a record */
	TLS_MAJOR_MAX = 15, /* Go takes any version up to this one */
	TLS_HEAD = 5,
	HTTP_PORT = 80,
	TLS_PORT = 443,
	WORD_MS = 1000 /* for what follows a word of HTTP */
};

enum first { FIRST_MORE, FIRST_TLS, FIRST_HTTP, FIRST_OTHER, FIRST_UNSURE };

static bool
is_checked(const struct conn *c)
{
	return policy_checks_name(c->of, c->host);
}

/*
 * Whether the client speaks first, so that nothing is done before.  On ports 80
 * and 443 it does; with other protocols the server may.
 */
bool
look_first(const struct conn *c)
{
	return c->port == HTTP_PORT || (c->port == TLS_PORT && is_checked(c));
}

/*
 * A client that may send a request of HTTP is waited for, as its request will be
 * read.  Others may wait for an answer: their line is read while it passes.
 */
static enum first
judge_line(const char *data, size_t len)
{
	struct line line = { .part = LINE_BEFORE };
	size_t begin = 0, word;

	switch (line_read(&line, data, len)) {
	case LINE_HTTP:
		return FIRST_HTTP;
	case LINE_OTHER:
		return FIRST_OTHER;
	case LINE_MORE:
		break;
	}
	while (begin < len && isspace((unsigned char)data[begin]))
		begin++;
	for (word = begin; word < len && !isspace((unsigned char)data[word]);)
		word++;
	if (begin == len || !http_method_begins(data + begin, word - begin))
		return FIRST_UNSURE;
	return len < SERVE_PEEK_MAX ? FIRST_MORE : FIRST_HTTP;
}

/*
 * Whether the bytes begin a record of TLS, so far as there are some.  Binary
 * protocols may begin with the same byte: MySQL's with the length of a message.
 */
static bool
may_be_record(const uint8_t *bytes, size_t len)
{
	size_t length = len >= TLS_HEAD ? (size_t)bytes[3] << 8 | bytes[4] : 0;

	if (len > 1 && bytes[1] > TLS_MAJOR_MAX)
		return false;
	switch (bytes[0]) {
	case TLS_CHANGE_CIPHER:
		return len < TLS_HEAD || length == TLS_CHANGE_CIPHER_BYTES;
	case TLS_ALERT:
		return len < TLS_HEAD || length == TLS_ALERT_BYTES;
	case TLS_HANDSHAKE:
		return len <= TLS_HEAD || length == 0 ||
		    bytes[TLS_HEAD] == TLS_CLIENT_HELLO;
	default:
		return false;
	}
}

/* Tells the protocol of the bytes, and in TLS also whether they are for the right host. */
static enum first
judge(struct conn *c, const char *data, size_t len, enum denial *why,
    char name[NETWORK_HOST_MAX])
{
	const uint8_t *bytes = (const uint8_t *)data;

	*why = DENIAL__MAX;
	name[0] = '\0';
	if (!may_be_record(bytes, len))
		return judge_line(data, len);
	if (len < TLS_HEAD)
		return FIRST_MORE;
	/* a server may skip a warning before the name, which we do not */
	if (bytes[0] != TLS_HANDSHAKE) {
		*why = is_checked(c) ? DENY_SERVER_NAME : DENIAL__MAX;
		return FIRST_TLS;
	}
	switch (hello_check(c, data, len, name)) {
	case HELLO_MORE:
		return FIRST_MORE;
	case HELLO_WRONG:
		*why = DENY_SERVER_NAME;
		break;
	case HELLO_RIGHT:
		break;
	}
	return FIRST_TLS;
}

/* The host has secrets, so its requests must be read. */
static int
begin_termination(struct conn *c)
{
	if (!terminate_client(c))
		return -1;
	c->speaks = SPEAKS_HTTP;
	return 0;
}

static int
decide(struct conn *c, enum first is, enum denial why, const char *name)
{
	side_wait_for(&c->client, 1);
	c->client.tells_end = false;
	c->unchecked = !is_checked(c);
	/* until there is a server, the timer is for reaching it */
	if (c->upstream == UPSTREAM_OPEN)
		loop_clear(&c->of->of->loop, &c->timer);
	if (is == FIRST_HTTP) {
		c->speaks = SPEAKS_HTTP; /* each request is checked there */
		return 0;
	}
	c->speaks = is == FIRST_TLS ? SPEAKS_TLS : SPEAKS_RAW;
	c->unsure = is == FIRST_UNSURE;
	if (!policy_allows(c->of, c->host, c->port))
		why = policy_denial(c->of, c->host, c->port);
	else if (is != FIRST_TLS && look_first(c) && is_checked(c))
		why = DENY_PROTOCOL;
	if (why != DENIAL__MAX)
		conn_deny(c, why, name[0] != '\0' ? name : NULL);
	else if (is == FIRST_TLS && policy_has_secret(c->of, c->host))
		return begin_termination(c);
	return 0;
}

static int
look_at(struct conn *c)
{
	char *data = c->of->of->read_buffer;
	char name[NETWORK_HOST_MAX] = "";
	enum denial why = DENIAL__MAX;
	enum first is;
	ssize_t n;

	c->client.tells_end = true;
	n = recv(c->client.fd, data, SERVE_PEEK_MAX, MSG_PEEK);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (n == 0) { /* a client that only listens */
		c->client.hung_up = true;
		if (c->upstream == UPSTREAM_OPEN)
			return decide(c, FIRST_OTHER, why, name);
		return c->upstream == UPSTREAM_NONE && !c->waiting ? -1 : 0;
	}
	is = judge(c, data, (size_t)n, &why, name);
	/* no more will follow, or the client waits for an answer */
	if (is == FIRST_MORE && (c->hasty || c->client.hung_up) &&
	    isprint((unsigned char)data[0]))
		is = FIRST_UNSURE;
	if (is != FIRST_MORE)
		return decide(c, is, why, name);
	side_wait_for(&c->client, (size_t)n + 1);
	if (isprint((unsigned char)data[0]) && c->upstream == UPSTREAM_OPEN &&
	    c->timer.index == 0)
		conn_give_up_after(c, WORD_MS);
	return c->client.hung_up ? -1 : 0;
}

bool
look_waits(struct conn *c)
{
	bool waits = c->protocol == &LOOK && c->upstream == UPSTREAM_OPEN &&
	    !c->hasty && !look_first(c);

	c->hasty = c->hasty || waits;
	return waits;
}

/* Bytes of the server pass before the client has spoken, if it may wait. */
static int
step(struct conn *c)
{
	if (!look_first(c)) {
		bool open = relay_open(c);

		if (c->of == NULL || c->leaving)
			return 0;
		if (open && relay_down(c) < 0)
			return -1;
	}
	return look_at(c);
}

static bool
wants_client(struct conn *c)
{
	return !c->client.hung_up;
}

static bool
wants_server(struct conn *c)
{
	return !look_first(c) && !side_pending(&c->client) &&
	    budget_left(c->of);
}

/* The server may have begun to speak on other ports. */
static bool
refuse(struct conn *c, int status, const char *text)
{
	(void)status;
	(void)text;
	return (c->upstream != UPSTREAM_OPEN || look_first(c)) &&
	    hello_alert(c);
}

const struct protocol LOOK = { .step = step,
	.wants_client = wants_client,
	.wants_server = wants_server,
	.refuse = refuse };
