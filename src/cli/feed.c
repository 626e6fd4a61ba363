/* feed.c: bytes for something that reads in a session. */
#include "cli/feed.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/token.h"

enum { RETRY_MS = 500 };

size_t
feed_room(const struct feed *f)
{
	return f->over || f->ending || f->waiting.len >= FEED_ROOM
	    ? 0
	    : FEED_ROOM - f->waiting.len;
}

void
feed_add(struct feed *f, const char *data, size_t len)
{
	if (!f->over && len > 0)
		buf_add(&f->waiting, data, len);
}

void
feed_end(struct feed *f)
{
	f->ending = true;
}

bool
feed_busy(const struct feed *f)
{
	return !f->over &&
	    (f->post != NULL || f->waiting.len > 0 || f->sent.len > 0 ||
		(f->json && f->ending));
}

static void
drop_front(struct buf *b, size_t len)
{
	if (len > b->len)
		len = b->len;
	if (len == 0)
		return;
	memmove(b->data, b->data + len, b->len - len);
	b->len -= len;
}

/* ---- sending */

static void
make_body(struct feed *f)
{
	auto_buf struct buf text = { 0 };

	token_to_base64(f->sent.data, f->sent.len, &text);
	f->body = json_pack("{s:s, s:s, s:b}", "data", text.data, "encoding",
	    "base64", "close", f->ending && f->waiting.len == 0);
}

static void
send_waiting(struct feed *f)
{
	struct request r = { .method = "POST", .path = f->path };

	if (f->sent.len == 0) {
		struct buf spare = f->sent;

		f->sent = f->waiting;
		f->waiting = spare;
	}
	if (f->json) {
		make_body(f);
		r.json = f->body;
	} else {
		r.bytes = f->sent.data;
		r.len = f->sent.len;
	}
	f->post = transfer_begin(f->client, &r);
}

/* ---- answers */

/* How much of a body that was refused has been taken all the same. */
static size_t
written_of(const struct err *e)
{
	auto_json json_t *context = json_loads(e->more, 0, NULL);

	return (size_t)json_integer_value(json_object_get(context, "written"));
}

static bool
is_slow_reader(const struct err *e)
{
	return transfer_refused(e, CODE_INPUT_FULL) ||
	    transfer_refused(e, CODE_CONTAINER_UNAVAILABLE) ||
	    e->code == CODE_UNREACHABLE;
}

static bool
is_gone_reader(const struct err *e)
{
	return transfer_refused(e, CODE_INPUT_CLOSED) ||
	    transfer_refused(e, CODE_TERMINAL_ENDED) ||
	    (e->code == CODE_REFUSED && e->kind == ERR_NOT_FOUND);
}

static int
take_answer(struct feed *f, struct err *e)
{
	bool said_end = json_is_true(json_object_get(f->body, "close"));
	int rc = transfer_result(f->post, NULL, e);

	transfer_free(f->post);
	f->post = NULL;
	json_decref(f->body);
	f->body = NULL;
	if (rc == 0) {
		f->sent.len = 0;
		f->over = said_end;
		return 0;
	}
	if (is_slow_reader(e)) {
		drop_front(&f->sent, written_of(e));
		f->retry_ms = clock_ms() + RETRY_MS;
		return 0;
	}
	f->sent.len = 0;
	f->over = is_gone_reader(e);
	return f->over ? 0 : -1;
}

int
feed_move(struct feed *f, struct err *e)
{
	if (f->post != NULL && transfer_done(f->post) && take_answer(f, e) < 0)
		return -1;
	if (f->post == NULL && feed_busy(f) && clock_left_ms(f->retry_ms) == 0)
		send_waiting(f);
	return 0;
}

int
feed_wait_ms(const struct feed *f)
{
	return f->post == NULL && feed_busy(f) ? clock_left_ms(f->retry_ms)
					       : -1;
}

void
feed_free(struct feed *f)
{
	transfer_free(f->post);
	json_decref(f->body);
	buf_free(&f->waiting);
	buf_free(&f->sent);
}
