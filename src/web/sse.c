/* sse.c: writes server-sent events. */
#include "web/sse.h"

#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

void
sse_begin(struct call *c)
{
	call_header(c, "Cache-Control", "no-cache");
	call_begin(c, 200, "text/event-stream");
	call_flush(c);
}

int
sse_event(struct call *c, const json_t *data)
{
	auto_json json_t *whole = call_with_also(c, data);
	auto_free char *text = json_text(whole);
	auto_buf struct buf line = { 0 };

	buf_fmt(&line, "data: %s\n\n", text);
	call_write(c, line.data, line.len);
	return call_flush(c);
}

int
sse_heartbeat(struct call *c)
{
	static const char COMMENT[] = ": ka\n\n";

	call_write(c, COMMENT, sizeof(COMMENT) - 1);
	return call_flush(c);
}

bool
sse_wait(struct call *c, int fd, int ms)
{
	struct pollfd fds[] = { { fd, POLLIN, 0 },
		{ call_fd(c), POLLRDHUP, 0 } };
	uint64_t seen;

	if (poll(fds, ARRAY_LEN(fds), ms < 0 ? SSE_HEARTBEAT_MS : ms) == 0 &&
	    ms < 0)
		sse_heartbeat(c);
	if (fds[0].revents != 0)
		(void)!read(fd, &seen, sizeof(seen));
	return fds[1].revents == 0 && !c->gone;
}
