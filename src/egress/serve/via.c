/*
 * via.c: reaches servers through the site's own proxy (setting egress_proxy).
 *
 * The proxy resolves names, so only a target that is an address can be judged
 * here.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/str.h"
#include "egress/serve/serve.h"
#include "web/http_reply.h"
#include "web/http_request.h"

enum { HEAD_MAX = 8192, STATUS_OK = 200, DEFAULT_PORT = 3128 };

int
via_parse(struct egress *g, struct err *e)
{
	static const char SCHEME[] = "http://";
	const char *text = g->conf->egress_proxy, *host;
	char authority[HTTP_AUTHORITY_MAX];
	size_t len;

	if (text[0] == '\0')
		return 0;
	if (str_starts(text, SCHEME) &&
	    str_copy(authority, sizeof(authority), text + strlen(SCHEME))) {
		authority[strcspn(authority, "/")] = '\0';
		if (http_authority(authority, DEFAULT_PORT, &host, &len,
			&g->via_port) &&
		    network_host(host, len, g->via_host))
			return 0;
	}
	return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
	    "egress_proxy: write it as http://proxy.example.com:3128");
}

int
via_ask(struct conn *c)
{
	bool v6 = strchr(c->host, ':') != NULL;
	auto_buf struct buf out = { 0 };

	for (int i = 0; i < 2; i++)
		buf_fmt(&out, "%s%s%s%s:%u%s",
		    i == 0 ? "CONNECT " : "Host: ", v6 ? "[" : "", c->host,
		    v6 ? "]" : "", c->port,
		    i == 0 ? " HTTP/1.1\r\n" : "\r\n\r\n");
	return side_write(&c->server, out.data, out.len);
}

/* Whether the head, of `len` bytes, says that the tunnel is open. */
static bool
is_open(const char *head, size_t len)
{
	struct http_reply reply;
	auto_buf struct buf ignored = { 0 };
	bool open;

	/* such a response has no body, as one to HEAD */
	http_reply_begin(&reply, (struct http_reply_to){ .head = true });
	open = http_reply_take(&reply, head, len, &ignored) ==
		HTTP_REPLY_COMPLETE &&
	    reply.parser.status_code == STATUS_OK;
	http_reply_free(&reply);
	return open;
}

/* Bytes after the head are the server's and stay in the socket. */
int
via_answer(struct conn *c)
{
	char *data = c->of->of->read_buffer;
	ssize_t n = recv(c->server.fd, data, HEAD_MAX, MSG_PEEK);
	const char *end;
	size_t len;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	end = n > 0 ? memmem(data, (size_t)n, "\r\n\r\n", 4) : NULL;
	if (end == NULL) {
		int low = (int)n + 1; /* wakes us only when there is more */

		setsockopt(c->server.fd, SOL_SOCKET, SO_RCVLOWAT, &low,
		    sizeof(low));
		return n > 0 && n < HEAD_MAX && !side_has_end(&c->server) ? 0
									  : -1;
	}
	len = (size_t)(end - data) + 4;
	if (recv(c->server.fd, data, len, 0) != (ssize_t)len ||
	    !is_open(data, len))
		return -1;
	setsockopt(c->server.fd, SOL_SOCKET, SO_RCVLOWAT, &(int){ 1 },
	    sizeof(int));
	return 1;
}
