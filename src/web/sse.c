/* sse.c: server-sent events. */
#include "web/sse.h"

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
	auto_free char *text = json_text(data);
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
