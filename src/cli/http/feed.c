/* feed.c: sends input to a process or a terminal in a session. */
#include "cli/http/feed.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum {
	RETRY_MS = 500,
	QUIET_MS = 200,
	WAITING_MAX = 64 * 1024,
	BODY_MAX = 8 * 1024 * 1024 /* a body is kept until its answer comes */
};

static size_t
room_in(const struct buf *b, size_t max)
{
	return b->len < max ? max - b->len : 0;
}

size_t
feed_room(const struct feed *f)
{
	if (f->over || f->ending)
		return 0;
	return f->open ? room_in(&f->sent, BODY_MAX)
		       : room_in(&f->waiting, WAITING_MAX);
}

/* Lets the transfer see the end of the body. */
static void
end_body(struct feed *f)
{
	f->open = false;
	transfer_go_on(f->post);
}

void
feed_add(struct feed *f, const char *data, size_t len)
{
	if (f->over || len == 0)
		return;
	if (!f->open) {
		buf_add(&f->waiting, data, len);
		return;
	}
	buf_add(&f->sent, data, len);
	f->quiet_ms = clock_ms() + QUIET_MS;
	if (room_in(&f->sent, BODY_MAX) == 0)
		end_body(f);
	else
		transfer_go_on(f->post);
}

void
feed_end(struct feed *f)
{
	f->ending = true;
	if (f->open)
		end_body(f);
}

bool
feed_busy(const struct feed *f)
{
	return !f->over &&
	    (f->post != NULL || f->waiting.len > 0 || f->sent.len > 0 ||
		(f->close_path != NULL && f->ending));
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

static ssize_t
give_body(void *ctx, char *to, size_t max)
{
	struct feed *f = ctx;
	size_t n = f->sent.len - f->given;

	if (n == 0)
		return f->open ? TRANSFER_LATER : 0;
	if (n > max)
		n = max;
	memcpy(to, f->sent.data + f->given, n);
	f->given += n;
	return (ssize_t)n;
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
	f->given = 0;
	f->says_end = f->close_path != NULL && f->ending && f->waiting.len == 0;
	if (f->says_end)
		r.path = f->close_path;
	if (f->close_path == NULL) {
		r.bytes = f->sent.data;
		r.len = f->sent.len;
	} else {
		r.read = give_body;
		r.read_size = -1;
		r.ctx = f;
		/* if the process does not read, the agent answers after 30 s,
		   before the limit on silence */
		r.endless = true;
		/* bytes that wait already must not be overtaken by new ones */
		f->open = !f->ending && f->waiting.len == 0;
		f->quiet_ms = clock_ms() + QUIET_MS;
	}
	f->post = transfer_begin(f->client, &r);
}

/* ---- answers */

/* How many bytes of a refused body the process has read nevertheless. */
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
	    transfer_refused(e, CODE_SESSION_TERMINATED) ||
	    (e->code == CODE_REFUSED && e->kind == ERR_NOT_FOUND);
}

static int
handle_answer(struct feed *f, struct err *e)
{
	int rc = transfer_result(f->post, NULL, e);

	transfer_free(f->post);
	f->post = NULL;
	f->open = false;
	if (rc == 0) {
		f->sent.len = 0;
		f->over = f->says_end;
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
	if (f->post != NULL && transfer_done(f->post) &&
	    handle_answer(f, e) < 0)
		return -1;
	if (f->open && clock_left_ms(f->quiet_ms) == 0)
		end_body(f);
	if (f->post == NULL && feed_busy(f) && clock_left_ms(f->retry_ms) == 0)
		send_waiting(f);
	return 0;
}

int
feed_wait_ms(const struct feed *f)
{
	if (f->open)
		return clock_left_ms(f->quiet_ms);
	return f->post == NULL && feed_busy(f) ? clock_left_ms(f->retry_ms)
					       : -1;
}

void
feed_free(struct feed *f)
{
	transfer_free(f->post);
	buf_free(&f->waiting);
	buf_free(&f->sent);
}
