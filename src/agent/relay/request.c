/* request.c: reads the few facts of a request that the relay needs. */
#include "agent/relay/request.h"

#include <string.h>
#include <strings.h>

#include "web/error_page.h"

enum { ACCEPT_MAX = 512 }; /* enough: browsers list HTML first */

/* The rest of the first line that begins with `start`, or NULL. */
static const char *
find_line(const char *head, size_t len, const char *start)
{
	const char *end = head + len;
	size_t want = strlen(start);

	for (const char *line = head; line != NULL && line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		if ((size_t)(end - line) >= want &&
		    strncasecmp(line, start, want) == 0)
			return line + want;
		line = next != NULL ? next + 1 : NULL;
	}
	return NULL;
}

static bool
has_line(const char *head, size_t len, const char *line)
{
	return find_line(head, len, line) != NULL;
}

static bool
accepts_page(const char *head, size_t len)
{
	const char *accept = find_line(head, len, "accept:");
	char text[ACCEPT_MAX];
	size_t n = 0;

	if (accept == NULL)
		return false;
	while (n < sizeof(text) - 1 && accept + n < head + len &&
	    accept[n] != '\r')
		n++;
	memcpy(text, accept, n);
	text[n] = '\0';
	return error_page_wanted(text);
}

struct relay_request
relay_request_read(const char *data, size_t len)
{
	static const char HEAD[] = "HEAD ";
	const char *body = memmem(data, len, "\r\n\r\n", 4);
	struct relay_request r = { 0 };

	/* search the head only: lines of a body may look like headers */
	if (body != NULL)
		len = (size_t)(body + 2 - data);
	r.head = len >= sizeof(HEAD) - 1 &&
	    memcmp(data, HEAD, sizeof(HEAD) - 1) == 0;
	r.upgrade = has_line(data, len, "upgrade: websocket\r\n");
	r.probe = has_line(data, len, "x-sandlease-probe: 1\r\n");
	r.page = !r.upgrade &&
	    !has_line(data, len, "x-forwarded-prefix: /v1/") &&
	    accepts_page(data, len);
	return r;
}
