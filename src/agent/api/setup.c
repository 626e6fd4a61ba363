/* setup.c: runs the setup of a session. */
#include "agent/api/setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/api/request.h"
#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/shell/exec.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

enum { PIECE_MAX = 4096, EXIT_NOT_RUN = 126 };

/*
 * The lock protects all members but those that only the setup's thread reads.
 */
static struct {
	struct lock lock;
	pthread_cond_t moved; /* there is more output, or the setup has ended */
	bool begun, done;
	char *command;      /* read by the setup's thread only */
	int64_t timeout_ms; /* the same */
	int64_t bytes;      /* of all output */
	struct buf head, tail;
	int exit_code;
	int64_t began_ms, ended_ms;
} setup = { .lock = LOCK_INIT(LOCK_SETUP), .moved = PTHREAD_COND_INITIALIZER };

/* ---- running */

static void
keep_output(void *ctx, int which, const char *data, size_t len)
{
	size_t room, n;

	(void)ctx;
	(void)which; /* both streams are kept together, in order of arrival */
	lock_take(&setup.lock);
	room = SETUP_HEAD_MAX - setup.head.len;
	n = len < room ? len : room;
	if (n > 0)
		buf_add(&setup.head, data, n);
	buf_add_tail(&setup.tail, data, len, SETUP_TAIL_MAX);
	setup.bytes += (int64_t)len;
	if (n > 0)
		pthread_cond_broadcast(&setup.moved);
	lock_drop(&setup.lock);
}

static void
keep_line(const char *text)
{
	keep_output(NULL, 1, text, strlen(text));
	keep_output(NULL, 1, "\n", 1);
}

/* The setup is not activity: the session is not ready, and takes no calls. */
static void *
run_setup(void *arg)
{
	struct exec x = { .command = setup.command,
		.shell = EXEC_SESSIONLESS,
		.timeout_ms = setup.timeout_ms,
		.output = keep_output };
	struct shell_outcome o = { 0 };
	struct err e = { 0 };

	(void)arg;
	if (exec_beside(&x, &o, &e) < 0) {
		keep_line(e.msg);
		o.exit_code = EXIT_NOT_RUN;
	} else if (o.timed_out) {
		keep_line("the setup took too long and was ended");
	}
	lock_take(&setup.lock);
	setup.done = true;
	setup.exit_code = o.exit_code;
	setup.ended_ms = clock_ms();
	pthread_cond_broadcast(&setup.moved);
	lock_drop(&setup.lock);
	log_line(LOG_INFO, "setup", "ended with exit code %d", o.exit_code);
	return NULL;
}

static int
read_command(int fd, struct err *e)
{
	auto_free char *text = xcalloc(1, SETUP_COMMAND_MAX + 1);
	size_t len = 0;
	ssize_t n;

	while ((n = pread(fd, text + len, SETUP_COMMAND_MAX - len,
		    (off_t)len)) > 0)
		len += (size_t)n;
	if (n < 0)
		return err_errno(e, "setup");
	if (len == 0 || strlen(text) != len)
		return err_field(e, "setup", "must be text without a NUL");
	free(setup.command);
	setup.command = TAKE(text);
	return 0;
}

/* The lock is held. */
static int
begin_setup(const struct setup_question *q, struct err *e)
{
	if (read_command(q->fd, e) < 0)
		return -1;
	setup.timeout_ms = q->timeout_ms;
	setup.began_ms = clock_ms();
	if (serve_thread(run_setup, NULL) < 0)
		return err_errno(e, "cannot start a thread for the setup");
	setup.begun = true;
	return 0;
}

/* ---- the answer */

/* Waits for new output or the end; the lock is held. */
static void
wait_for_news(const struct setup_question *q)
{
	int64_t until_ms = clock_ms() + q->wait_ms;

	while (setup.begun && !setup.done &&
	    (int64_t)setup.head.len <= q->offset && clock_ms() < until_ms)
		(void)lock_wait_until(&setup.moved, &setup.lock, until_ms);
}

/* A JSON string that the database also accepts: valid UTF-8 without NUL. */
static json_t *
clean_text(const char *data, size_t len)
{
	auto_buf struct buf clean = { 0 };

	buf_add(&clean, len > 0 ? data : "", len);
	for (size_t i = 0; i < len; i++)
		if (clean.data[i] == '\0')
			clean.data[i] = '?';
	return json_bytes(clean.data, len);
}

static void
add_answer(const struct setup_question *q, json_t *reply)
{
	size_t from = q->offset < (int64_t)setup.head.len ? (size_t)q->offset
							  : setup.head.len;
	size_t len = setup.head.len - from;
	bool done = setup.done && len == 0;

	if (len > PIECE_MAX) {
		len = utf8_whole(setup.head.data + from, PIECE_MAX);
		len = len > 0 ? len : PIECE_MAX;
	}
	json_object_set_new(reply, "begun", json_boolean(setup.begun));
	json_object_set_new(reply, "done", json_boolean(done));
	json_object_set_new(reply, "bytes", json_integer(setup.bytes));
	json_object_set_new(reply, "offset",
	    json_integer((json_int_t)(from + len)));
	json_object_set_new(reply, "output",
	    done ? clean_text(setup.tail.data, setup.tail.len)
		 : clean_text(len > 0 ? setup.head.data + from : "", len));
	if (done) {
		json_object_set_new(reply, "exitCode",
		    json_integer(setup.exit_code));
		json_object_set_new(reply, "ms",
		    json_integer(setup.ended_ms - setup.began_ms));
	}
}

int
setup_ask(const struct setup_question *q, json_t *reply, struct err *e)
{
	int rc = 0;

	lock_take(&setup.lock);
	if (!setup.begun && q->fd >= 0)
		rc = begin_setup(q, e);
	if (rc == 0) {
		wait_for_news(q);
		add_answer(q, reply);
	}
	lock_drop(&setup.lock);
	return rc;
}
