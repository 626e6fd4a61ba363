/* relay_request.c: what the relay needs to know of a request. */
#include "agent/relay_request.h"

#include <string.h>
#include <strings.h>

/* True when a whole line of the head begins so. */
static bool
has_line(const char *head, size_t len, const char *start)
{
	const char *end = head + len;
	size_t want = strlen(start);

	for (const char *line = head; line != NULL && line < end;) {
		const char *next = memchr(line, '\n', (size_t)(end - line));

		if ((size_t)(end - line) >= want &&
		    strncasecmp(line, start, want) == 0)
			return true;
		line = next != NULL ? next + 1 : NULL;
	}
	return false;
}

struct relay_request
relay_request_read(const char *data, size_t len)
{
	static const char HEAD[] = "HEAD ";
	const char *body = memmem(data, len, "\r\n\r\n", 4);
	struct relay_request r = { 0 };

	/* a body may look like headers */
	if (body != NULL)
		len = (size_t)(body + 2 - data);
	r.head = len >= sizeof(HEAD) - 1 &&
	    memcmp(data, HEAD, sizeof(HEAD) - 1) == 0;
	r.upgrade = has_line(data, len, "upgrade: websocket\r\n");
	r.probe = has_line(data, len, "x-sandlease-probe: 1\r\n");
	r.for_program =
	    r.upgrade || has_line(data, len, "x-forwarded-prefix: /v1/");
	return r;
}
