/* page.c: writes the relay's own response when the app has none. */
#include "agent/relay/page.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "web/error_page.h"

enum { STATE_LISTEN = 0x0a, TABLE_MAX = 256 * 1024 };

static const char NOTHING_LISTENS[] = "Nothing listens on port",
		  NO_HTTP[] = "No valid HTTP response from port";

static void
add_port(struct port_list *l, int port)
{
	size_t at = 0;

	while (at < l->count && l->port[at] < port)
		at++;
	if (l->count == RELAY_PORTS_MAX ||
	    (at < l->count && l->port[at] == port))
		return;
	memmove(&l->port[at + 1], &l->port[at],
	    (l->count - at) * sizeof(l->port[0]));
	l->port[at] = port;
	l->count++;
}

void
relay_page_parse(const char *text, struct port_list *out)
{
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		unsigned port, state;

		if (*line == '\n')
			line++;
		/* sl: address:PORT remote:port STATE ... */
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x",
			&port, &state) == 2 &&
		    state == STATE_LISTEN && port <= 65535)
			add_port(out, (int)port);
	}
}

static void
read_table(const char *path, struct port_list *out)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	auto_buf struct buf text = { 0 };

	while (fd >= 0 && text.len < TABLE_MAX) {
		ssize_t n = read(fd, buf_room(&text, 8192), 8192);

		if (n <= 0)
			break;
		text.len += (size_t)n;
	}
	if (text.len == 0)
		return;
	text.data[text.len] = '\0';
	relay_page_parse(text.data, out);
}

void
relay_page_ports(struct port_list *out)
{
	*out = (struct port_list){ 0 };
	read_table("/proc/self/net/tcp", out);
	read_table("/proc/self/net/tcp6", out);
}

static void
put_json(struct buf *to, int port, const struct port_list *l)
{
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	buf_fmt(to,
	    "{\"error\":\"Proxy error\",\"code\":\"SERVICE_NOT_RESPONDING\","
	    "\"message\":\"%s %d\",\"port\":%d,"
	    "\"httpStatus\":502,\"timestamp\":\"%s\",\"context\":{"
	    "\"port\":%d",
	    l != NULL ? NOTHING_LISTENS : NO_HTTP, port, port, at, port);
	if (l != NULL) {
		buf_str(to, ",\"listening\":[");
		for (size_t i = 0; i < l->count; i++)
			buf_fmt(to, "%s%d", i > 0 ? "," : "", l->port[i]);
		buf_str(to, "]");
	}
	buf_str(to, "}}\n");
}

static void
put_ports(struct buf *to, const struct port_list *l)
{
	buf_str(to,
	    "<p>The sandbox is running, but no program in it accepts "
	    "connections on this port.</p>");
	if (l->count == 0) {
		buf_str(to, "<p>No other port listens either.</p>");
		return;
	}
	buf_str(to, "<p>Ports that do listen:");
	for (size_t i = 0; i < l->count; i++)
		buf_fmt(to, " %d", l->port[i]);
	buf_str(to, "</p>");
}

static void
put_html(struct buf *to, int port, const struct port_list *l)
{
	auto_buf struct buf html = { 0 };
	char title[64];

	snprintf(title, sizeof(title), "%s %d",
	    l != NULL ? NOTHING_LISTENS : NO_HTTP, port);
	if (l != NULL)
		put_ports(&html, l);
	else
		buf_str(&html,
		    "<p>The program on this port sent a response that cannot "
		    "be passed on: it has no HTTP/1 status line, an ambiguous "
		    "length or a malformed header.</p>");
	error_page_write(to, title, html.data, 0);
}

void
relay_page_write(struct buf *to, int port, bool page,
    const struct port_list *listening)
{
	auto_buf struct buf body = { 0 };

	if (page)
		put_html(&body, port, listening);
	else
		put_json(&body, port, listening);
	buf_fmt(to,
	    "HTTP/1.1 502 Bad Gateway\r\nContent-Type: %s\r\n"
	    "Content-Length: %zu\r\nCache-Control: no-store\r\n"
	    "Vary: Accept\r\nX-Content-Type-Options: nosniff\r\n%s"
	    "Connection: close\r\n\r\n",
	    page ? NOTICE_TYPE : "application/json", body.len,
	    page ? "Content-Security-Policy: " NOTICE_POLICY "\r\n" : "");
	buf_add(to, body.data, body.len);
}
