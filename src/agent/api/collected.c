/* collected.c: collects the output of a command for api/execute. */
#include "agent/api/collected.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/api/request.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	OUTPUT_MAX = 32 * 1024 * 1024,      /* of each stream of a command */
	OUTPUT_ALL_MAX = 128 * 1024 * 1024, /* of all calls together */
	CONTEXT_OUTPUT_MAX = 1024 * 1024    /* of each stream, in an error */
};

static atomic_size_t collected_bytes; /* by all calls together */

void
collected_add(void *ctx, int which, const char *data, size_t len)
{
	struct collected *k = ctx;
	struct buf *to = &k->text[which];
	size_t room = OUTPUT_MAX - to->len;

	if (atomic_load(&collected_bytes) > OUTPUT_ALL_MAX)
		room = 0;
	if (len > room) {
		k->truncated = true;
		len = room;
	}
	if (len == 0)
		return;
	buf_add(to, data, len);
	atomic_fetch_add(&collected_bytes, len);
}

void
collected_free(struct collected *k)
{
	atomic_fetch_sub(&collected_bytes, k->text[0].len + k->text[1].len);
	buf_free(&k->text[0]);
	buf_free(&k->text[1]);
}

/* ---- in an error */

/* Adds the end of a stream.  True when its beginning was cut off. */
static bool
add_output(json_t *context, const char *name, const struct buf *b)
{
	size_t n = b->len < CONTEXT_OUTPUT_MAX ? b->len : CONTEXT_OUTPUT_MAX;

	json_object_set_new(context, name,
	    json_bytes(n > 0 ? b->data + b->len - n : "", n));
	return n < b->len;
}

json_t *
collected_context(const struct exec *x, const struct collected *k)
{
	json_t *context =
	    json_pack("{s:o, s:s, s:s}", "sessionId", json_lossy(x->shell),
		"command", x->command, "executionId", x->execution->id);
	bool cut = k->truncated;

	cut |= add_output(context, "stdout", &k->text[0]);
	cut |= add_output(context, "stderr", &k->text[1]);
	if (cut)
		json_object_set_new(context, "truncated", json_true());
	return context;
}

/* ---- as an answer */

static void
add_flags(struct buf *to, const struct collected *k,
    const struct shell_outcome *o)
{
	if (k->truncated)
		buf_str(to, ",\"truncated\":true");
	if (o->interrupted)
		buf_fmt(to, ",\"interrupted\":true%s",
		    o->replaced ? ",\"shellReplaced\":true" : "");
}

/* Writes JSON by hand: as a JSON value large output would be copied. */
void
collected_reply(struct call *c, const struct exec *x, const struct collected *k,
    const struct shell_outcome *o, int64_t took_ms)
{
	auto_buf struct buf tail = { 0 };
	char head[64], at[CLOCK_ISO_MAX];

	clock_iso(at);
	call_begin(c, 200, "application/json");
	snprintf(head, sizeof(head), "{\"success\":%s,\"exitCode\":%d",
	    o->exit_code == 0 ? "true" : "false", o->exit_code);
	call_write(c, head, strlen(head));
	call_write(c, ",\"stdout\":\"", 11);
	request_write_text(c, k->text[0].data, k->text[0].len);
	call_write(c, "\",\"stderr\":\"", 12);
	request_write_text(c, k->text[1].data, k->text[1].len);
	call_write(c, "\",\"command\":\"", 13);
	request_write_text(c, x->command, strlen(x->command));
	buf_str(&tail, "\",\"sessionId\":\"");
	utf8_json(&tail, x->shell, strlen(x->shell));
	buf_fmt(&tail,
	    "\",\"executionId\":\"%s\",\"duration\":%lld,\"timestamp\":\"%s\"",
	    x->execution->id, (long long)took_ms, at);
	add_flags(&tail, k, o);
	request_add_ignored(c, &tail);
	buf_str(&tail, "}");
	call_write(c, tail.data, tail.len);
}
