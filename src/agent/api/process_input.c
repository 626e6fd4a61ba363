/*
 * process_input.c: writes a body to the input of a process
 * (api/process/{id}/input).
 *
 * The body is JSON or bytes.  Of bytes each piece is written before the next is
 * read: a process that reads slowly slows its client down, and nothing is
 * buffered between them.
 */
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/process/process.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "common/mem.h"
#include "web/reply.h"

enum {
	JSON_MAX = 4 * 1024 * 1024,
	PIECE = 64 * 1024,
	SENDING_MS = 100 /* a client that is silent so long can be answered */
};

static const char BYTES_TYPE[] = "application/octet-stream";

/* ---- JSON */

static int
write_json(struct call *c, struct process_input *in, bool *end, struct err *e)
{
	auto_json json_t *body = NULL;
	auto_buf struct buf data = { 0 };
	const json_t *close;

	if (request_body(c, JSON_MAX, &body, e) < 0)
		return -1;
	close = json_object_get(body, "close");
	if (close != NULL && !json_is_boolean(close))
		return err_field(e, "close", "must be true or false");
	if (json_object_get(body, "data") == NULL) {
		if (close == NULL)
			return err_field(e, "data", "is required");
	} else if (request_decode_data(body, &data, e) < 0) {
		return -1;
	}
	if (process_input_open(in, in->process, call_fd(c), e) < 0)
		return -1;
	*end = json_is_true(close);
	return process_input_write(in, data.data, data.len, e);
}

/* ---- bytes */

/*
 * While the call's thread waits for the next bytes of the body, it cannot see
 * that the process ends.  A second thread, the sentry, watches the process, and
 * answers the call if the client sends nothing.  A client that is sending would
 * not see an answer, so its body is read to the end first.
 */
struct input_call {
	struct call *call;
	struct process_input in;
	atomic_llong taken; /* bytes of the body that were read */
	int stop_fd;        /* an eventfd that tells the sentry to end */
	struct lock lock;
	pthread_cond_t left; /* the sentry has ended */
	bool watched;        /* the sentry runs */
};

static void
reply_refused(struct input_call *t, const struct err *e)
{
	auto_json json_t *context =
	    json_pack("{s:s, s:I}", "processId", process_id(t->in.process),
		"written", (json_int_t)atomic_load(&t->in.written));

	struct err why = *e;

	if (t->call->status != 0)
		return;
	(void)session_end_explain(&why);
	reply_container_error(t->call, &why, context);
}

/* The sentry's thread. */
static void *
watch_process(void *arg)
{
	struct input_call *t = arg;
	struct pollfd f[] = { { t->in.watch.fd, POLLIN, 0 },
		{ t->stop_fd, POLLIN, 0 } };
	struct err e = { 0 };
	bool alive = true, answer = false;

	while (alive && poll(f, ARRAY_LEN(f), -1) >= 0 && f[1].revents == 0)
		alive = process_input_check(&t->in, &e) == 0;
	while (!alive && !answer) {
		long long before = atomic_load(&t->taken);

		if (poll(&f[1], 1, SENDING_MS) != 0)
			break; /* the body has ended */
		answer = atomic_load(&t->taken) == before;
	}
	lock_take(&t->lock);
	if (answer) {
		reply_refused(t, &e);
		call_flush(t->call);
		/* ends the body for the call's thread */
		shutdown(call_fd(t->call), SHUT_RD);
	}
	t->watched = false;
	pthread_cond_signal(&t->left);
	lock_drop(&t->lock);
	return NULL;
}

static int
start_sentry(struct input_call *t, struct err *e)
{
	t->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	t->watched = t->stop_fd >= 0;
	if (!t->watched || serve_thread(watch_process, t) < 0) {
		t->watched = false;
		return err_errno(e, "cannot watch the process");
	}
	return 0;
}

static void
end_sentry(struct input_call *t)
{
	if (t->stop_fd >= 0)
		(void)!eventfd_write(t->stop_fd, 1);
	lock_take(&t->lock);
	while (t->watched)
		lock_wait(&t->left, &t->lock);
	lock_drop(&t->lock);
	mem_close_fd(&t->stop_fd);
}

/* Reads ?close=true. */
static int
read_close(struct call *c, bool *end, struct err *e)
{
	char text[8] = "";
	bool present;

	if (call_query(c, "close", text, sizeof(text), &present, e) < 0)
		return -1;
	*end = str_equal(text, "true");
	if (present && !*end && !str_equal(text, "false"))
		return err_field(e, "close", "must be true or false");
	return 0;
}

/* Reads the body to its end, even if the process takes no more of it. */
static int
write_pieces(struct input_call *t, struct err *e)
{
	auto_free char *piece = xmalloc(PIECE);
	struct err cut = { 0 };
	int64_t skipped = 0;
	ssize_t n;
	int rc = 0;

	while (skipped < REQUEST_SKIP_MAX &&
	    (n = call_read_some(t->call, piece, PIECE, &cut)) > 0) {
		atomic_fetch_add(&t->taken, n);
		activity_touch();
		if (rc == 0)
			rc = process_input_write(&t->in, piece, (size_t)n, e);
		if (rc < 0)
			skipped += n;
	}
	if (rc == 0 && cut.kind != ERR_NONE) {
		*e = cut;
		rc = -1;
	}
	return rc;
}

static int
write_bytes(struct input_call *t, bool *end, struct err *e)
{
	bool close;

	if (read_close(t->call, &close, e) < 0 ||
	    process_input_open(&t->in, t->in.process, call_fd(t->call), e) < 0)
		return -1;
	if (start_sentry(t, e) < 0 || write_pieces(t, e) < 0)
		return -1;
	*end = close; /* only a complete body may close the input */
	return 0;
}

/* ---- both */

static void
write_input(struct input_call *t, struct err *e)
{
	bool bytes = strncasecmp(call_param(t->call, "CONTENT_TYPE"),
			 BYTES_TYPE, sizeof(BYTES_TYPE) - 1) == 0;
	bool end = false;
	int rc = bytes ? write_bytes(t, &end, e)
		       : write_json(t->call, &t->in, &end, e);

	end_sentry(t);
	if (t->in.watch.fd >= 0)
		process_input_close(&t->in, end);
	if (rc < 0)
		reply_refused(t, e);
	else
		reply_container(t->call,
		    json_pack("{s:s, s:I}", "processId",
			process_id(t->in.process), "written",
			(json_int_t)atomic_load(&t->in.written)));
}

int
api_process_input(struct call *c, struct err *e)
{
	struct input_call t = { .call = c,
		.in = { .watch = { .fd = -1 } },
		.stop_fd = -1,
		.lock = LOCK_INIT(LOCK_INPUT),
		.left = PTHREAD_COND_INITIALIZER };
	struct process *p;

	if (api_process_find(c, &p, e) < 0)
		return -1;
	t.in.process = p;
	activity_begin(ACTIVITY_STREAMS);
	write_input(&t, e);
	activity_end(ACTIVITY_STREAMS);
	process_release(p);
	return 0;
}
