/* queue.c: the attempts of a session: queued, running, ended. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/internal.h"
#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/run/activity.h"
#include "common/base64.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	PIECE_MAX = 24 * 1024, /* of output in one answer */
	RUNS_MAX = 2000,       /* changes of its stream */
	WAIT_MAX_MS = 30000,
	WAITERS_MAX = 8, /* more get their answer at once: ops are few */
	SETTLE_MS = 1000
};

/* Under attempt_lock. */
static struct {
	struct attempt *all; /* the oldest first */
	size_t waiting;      /* threads in wait_for_news() */
	bool trimmed;
} queue;

/* ---- with the lock held */

struct attempt *
attempt_find(const char *id)
{
	struct attempt *a = queue.all;

	while (a != NULL && !str_equal(a->rec.id, id))
		a = a->next;
	return a;
}

static size_t
count(enum attempt_state state)
{
	size_t n = 0;

	for (const struct attempt *a = queue.all; a != NULL; a = a->next)
		n += a->rec.state == state;
	return n;
}

void
attempt_drop(struct attempt *a)
{
	a->refs--;
	/* only the list has it: its log is read from the disk */
	if (a->refs == 1 && a->rec.state == ATTEMPT_ENDED)
		ring_close(&a->log);
	if (a->refs > 0)
		return;
	attempt_spec_free(&a->spec);
	meters_close(&a->meters);
	mem_close_fd(&a->wake);
	ring_close(&a->log);
	buf_free(&a->tail);
	free(a);
}

static void
unlink_attempt(struct attempt *a)
{
	struct attempt **at = &queue.all;

	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	attempt_drop(a);
}

static bool
is_taken(const struct attempt *a)
{
	return a->rec.state == ATTEMPT_ENDED && a->taken;
}

static size_t
count_taken(void)
{
	size_t n = 0;

	for (const struct attempt *a = queue.all; a != NULL; a = a->next)
		n += is_taken(a);
	return n;
}

static size_t
count_all(void)
{
	size_t n = 0;

	for (const struct attempt *a = queue.all; a != NULL; a = a->next)
		n++;
	return n;
}

/* Of those that the host has taken, the newest stay. */
static void
forget_oldest(void)
{
	struct attempt *a = queue.all;
	size_t taken = count_taken();

	while (a != NULL && taken > ATTEMPT_ENDED_MAX) {
		struct attempt *next = a->next;

		if (is_taken(a) && a->refs == 1) {
			journal_remove(a->rec.id);
			unlink_attempt(a);
			taken--;
		}
		a = next;
	}
}

static void
set_end(struct attempt *a, const struct attempt_record *r)
{
	a->rec = *r;
	meters_close(&a->meters);
	mem_close_fd(&a->wake);
	attempt_spec_free(&a->spec);
	activity_end(ACTIVITY_RUNNING);
	attempt_news_locked();
}

static void *run_thread(void *arg);

static void
begin(struct attempt *a)
{
	struct attempt_record r;

	a->rec.state = ATTEMPT_RUNNING;
	a->rec.began = clock_wall_ms();
	a->refs++;
	if (serve_thread(run_thread, a) == 0) {
		attempt_news_locked();
		return;
	}
	a->refs--;
	r = a->rec;
	r.state = ATTEMPT_ENDED;
	r.reason = REASON_LOST;
	str_copy(r.message, sizeof(r.message),
	    "the wrapper has no thread for it");
	set_end(a, &r);
}

static void
start_next(void)
{
	struct attempt *a = queue.all;

	for (; a != NULL; a = a->next) {
		if (a->rec.state != ATTEMPT_QUEUED)
			continue;
		if ((int64_t)count(ATTEMPT_RUNNING) >= a->spec.concurrency)
			return; /* first in, first out */
		if (attempt_is_leaving_locked())
			return; /* would be killed at once */
		begin(a);
	}
}

/* For activity_also_limit(): a silent attempt is not stuck before its end. */
static int64_t
latest_deadline(void)
{
	int64_t latest = 0;

	lock_take(&attempt_lock);
	for (const struct attempt *a = queue.all; a != NULL; a = a->next)
		if (a->rec.state == ATTEMPT_RUNNING && a->deadline_ms > latest)
			latest = a->deadline_ms;
	lock_drop(&attempt_lock);
	return latest;
}

/* Sets the end, and lets the next one begin. */
static void
finish(struct attempt *a, const struct attempt_record *r)
{
	set_end(a, r);
	start_next();
}

/* ---- running */

static void *
run_thread(void *arg)
{
	struct attempt *a = arg;
	struct attempt_record r = a->rec;

	journal_write(&r);
	attempt_run(a, &r);
	/* before it is seen to have ended: a wrapper that is killed now would
	 * have told an end that the next one does not know */
	journal_write(&r);
	log_line(LOG_INFO, "attempt", "%s: %s, exit code %d", r.id,
	    ATTEMPT_REASON_NAMES[r.reason], r.exit_code);
	lock_take(&attempt_lock);
	finish(a, &r);
	attempt_drop(a);
	lock_drop(&attempt_lock);
	return NULL;
}

/* ---- put */

struct id_body {
	char id[ATTEMPT_ID_MAX];
};

static const struct jfield ID[] = {
	JFIELD("id", struct id_body, id, J_STR, J_REQUIRED, 1,
	    ATTEMPT_ID_MAX - 1, "id of the attempt"),
};

static int
read_id(const json_t *msg, struct id_body *out, struct err *e)
{
	if (jfield_decode(msg, ID, ARRAY_LEN(ID), J_LENIENT, out, e) < 0)
		return -1;
	if (!journal_is_id(out->id))
		return err_field(e, "id", "is not an attempt's");
	return 0;
}

static void
release_new(struct attempt **a)
{
	if (*a == NULL)
		return;
	(*a)->refs = 1;
	attempt_drop(*a);
}

static int
make_attempt(const json_t *msg, const char *id, struct channel_fds *fds,
    struct attempt **out, struct err *e)
{
	__attribute__((cleanup(release_new))) struct attempt *a =
	    xcalloc(1, sizeof(*a));

	*a = (struct attempt){ .log = { .fd = -1 },
		.times = { .fd = -1 },
		.wake = -1,
		.rec = { .usage = { -1, -1, -1, -1, -1, -1 } } };
	str_copy(a->rec.id, sizeof(a->rec.id), id);
	if (meters_read(msg, fds, &a->meters, e) < 0 ||
	    attempt_spec_read(fds->count > 0 ? fds->fd[0] : -1, &a->spec, e) <
		0)
		return -1;
	a->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (a->wake < 0)
		return err_errno(e, "eventfd");
	*out = TAKE(a);
	return 0;
}

/* Adds it at the end; the lock is held. */
static int
enter(struct attempt *a, struct err *e)
{
	struct attempt **at = &queue.all;

	if (count(ATTEMPT_QUEUED) + count(ATTEMPT_RUNNING) >=
		ATTEMPT_QUEUED_MAX ||
	    count_all() - count_taken() >= ATTEMPT_UNTAKEN_MAX)
		return err_set(e, ERR_LIMITED, CODE_EXECUTION_QUEUE_FULL,
		    "%d executions of the session wait", ATTEMPT_QUEUED_MAX);
	while (*at != NULL)
		at = &(*at)->next;
	*at = a;
	a->refs = 1;
	activity_begin(ACTIVITY_RUNNING);
	start_next();
	return 0;
}

int
attempt_put(const json_t *msg, struct channel_fds *fds, json_t *reply,
    struct err *e)
{
	struct id_body b = { 0 };
	struct attempt_record old;
	struct attempt *a = NULL;
	bool known;
	int rc = 0;

	if (read_id(msg, &b, e) < 0)
		return -1;
	lock_take(&attempt_lock);
	if (!queue.trimmed) {
		journal_trim(ATTEMPT_ENDED_MAX, ATTEMPT_UNTAKEN_MAX);
		activity_also_limit(latest_deadline);
	}
	queue.trimmed = true;
	known = attempt_find(b.id) != NULL || journal_read(b.id, &old);
	if (!known)
		rc = make_attempt(msg, b.id, fds, &a, e);
	if (a != NULL) {
		rc = enter(a, e);
		if (rc < 0)
			release_new(&a);
	}
	a = attempt_find(b.id);
	json_object_set_new(reply, "put", json_boolean(rc == 0 && !known));
	json_object_set_new(reply, "running",
	    json_boolean(a != NULL && a->rec.state == ATTEMPT_RUNNING));
	lock_drop(&attempt_lock);
	return rc;
}

/* ---- ask */

struct ask_body {
	int64_t offset, wait_ms;
};

static const struct jfield ASK[] = {
	JFIELD("offset", struct ask_body, offset, J_INT, 0, -1, INT64_MAX,
	    "bytes of output that the host has; -1: it wants none"),
	JFIELD("waitMs", struct ask_body, wait_ms, J_INT, 0, 0, WAIT_MAX_MS,
	    "wait for the end, or for output"),
};

/* The lock is held. */
static void
wait_for_news(struct attempt *a, const struct ask_body *b)
{
	int64_t until_ms = clock_ms() + b->wait_ms;

	if (queue.waiting >= WAITERS_MAX)
		return;
	queue.waiting++;
	while (a->rec.state != ATTEMPT_ENDED && clock_ms() < until_ms &&
	    (b->offset < 0 || atomic_load(&a->log.total) <= b->offset))
		(void)lock_wait_until(&attempt_moved, &attempt_lock, until_ms);
	queue.waiting--;
}

/* Adds "offset", "data" and "streams": [[0 or 1, bytes], ...]. */
static void
add_output(const struct ring *log, int64_t offset, json_t *reply)
{
	auto_free struct ring_block *b = xmalloc(sizeof(*b));
	auto_buf struct buf data = { 0 };
	json_t *streams = json_array();
	size_t len;

	if (!ring_read(log, offset, b))
		*b = (struct ring_block){ .offset = offset };
	len = b->len < PIECE_MAX ? b->len : utf8_whole(b->data, PIECE_MAX);
	for (size_t at = 0; at < len;) {
		enum ring_stream which;
		size_t n = ring_run(b, at, &which);

		if (n > len - at)
			n = len - at;
		json_array_append_new(streams,
		    json_pack("[i, I]", (int)which, (json_int_t)n));
		at += n;
		if (json_array_size(streams) == RUNS_MAX)
			len = at; /* an answer must fit into one message */
	}
	base64_encode(&data, b->data, len);
	json_object_set_new(reply, "offset", json_integer(b->offset));
	json_object_set_new(reply, "data",
	    json_string(data.data != NULL ? data.data : ""));
	json_object_set_new(reply, "streams", streams);
}

/* Of the log of an ended attempt, which is on the disk. */
static void
open_log(const char *id, struct ring *out)
{
	char path[JOURNAL_PATH_MAX];
	struct err ignored;

	*out = (struct ring){ .fd = -1 };
	journal_log(id, path);
	(void)!ring_open(out, path, &ignored);
}

/* The host has its own idea of what time it is. */
static void
add_ago(json_t *reply, const char *name, int64_t at)
{
	int64_t ago = clock_wall_ms() - at;

	if (at > 0)
		json_object_set_new(reply, name,
		    json_integer(ago > 0 ? ago : 0));
}

static void
add_answer(const struct attempt_record *r, const struct ring *log,
    int64_t offset, json_t *reply)
{
	auto_json json_t *rec = journal_json(r);

	json_object_update(reply, rec);
	add_ago(reply, "beganAgoMs", r->began);
	add_ago(reply, "endedAgoMs", r->ended);
	json_object_set_new(reply, "known", json_true());
	if (r->state != ATTEMPT_ENDED) {
		json_object_set_new(reply, "bytes",
		    json_integer(atomic_load(&log->total)));
		json_object_set_new(reply, "dropped",
		    json_integer(atomic_load(&log->lost)));
	}
	if (offset >= 0)
		add_output(log, offset, reply);
}

static void
answer_from_memory(const struct attempt *a, int64_t offset, json_t *reply)
{
	struct ring log;

	if (a->rec.state != ATTEMPT_ENDED) {
		add_answer(&a->rec, &a->log, offset, reply);
		return;
	}
	open_log(a->rec.id, &log);
	add_answer(&a->rec, &log, offset, reply);
	ring_close(&log);
}

static void
answer_from_disk(const char *id, int64_t offset, json_t *reply)
{
	struct attempt_record r;
	struct ring log;

	if (!journal_read(id, &r)) {
		json_object_set_new(reply, "known", json_false());
		return;
	}
	open_log(id, &log);
	add_answer(&r, &log, offset, reply);
	ring_close(&log);
}

int
attempt_ask(const json_t *msg, json_t *reply, struct err *e)
{
	struct id_body b = { 0 };
	struct ask_body q = { .offset = -1 };
	struct attempt *a;

	if (read_id(msg, &b, e) < 0 ||
	    jfield_decode(msg, ASK, ARRAY_LEN(ASK), J_LENIENT, &q, e) < 0)
		return -1;
	lock_take(&attempt_lock);
	a = attempt_find(b.id);
	if (a != NULL) {
		a->refs++;
		wait_for_news(a, &q);
		answer_from_memory(a, q.offset, reply);
		attempt_drop(a);
	}
	lock_drop(&attempt_lock);
	if (a == NULL)
		answer_from_disk(b.id, q.offset, reply);
	return 0;
}

/* ---- cancel */

/* Of one that has not begun. */
static void
set_cancelled(struct attempt_record *r)
{
	r->state = ATTEMPT_ENDED;
	r->reason = REASON_CANCELLED;
	r->ended = clock_wall_ms();
	journal_write(r);
}

int
attempt_cancel(const json_t *msg, json_t *reply, struct err *e)
{
	struct id_body b = { 0 };
	struct attempt_record r;
	struct attempt *a;

	if (read_id(msg, &b, e) < 0)
		return -1;
	lock_take(&attempt_lock);
	a = attempt_find(b.id);
	if (a != NULL && a->rec.state == ATTEMPT_QUEUED) {
		r = a->rec;
		set_cancelled(&r);
		finish(a, &r);
	} else if (a != NULL) {
		attempt_stop_locked(a, REASON_CANCELLED);
	} else if (!journal_read(b.id, &r)) {
		/* the attempt may still be on its way, and then finds its end */
		r = (struct attempt_record){ .usage = { -1, -1, -1, -1, -1,
						 -1 } };
		str_copy(r.id, sizeof(r.id), b.id);
		set_cancelled(&r);
	}
	lock_drop(&attempt_lock);
	json_object_set_new(reply, "known", json_boolean(a != NULL));
	return 0;
}

int
attempt_kept(const json_t *msg, struct err *e)
{
	struct id_body b = { 0 };
	struct attempt *a;
	bool over;

	if (read_id(msg, &b, e) < 0)
		return -1;
	lock_take(&attempt_lock);
	a = attempt_find(b.id);
	over = a == NULL || a->rec.state == ATTEMPT_ENDED;
	if (a != NULL && over) {
		a->taken = true;
		forget_oldest();
	}
	lock_drop(&attempt_lock);
	if (over)
		journal_shrink(b.id);
	return 0;
}

void
attempt_settle(void)
{
	int64_t end = clock_ms() + SETTLE_MS;

	lock_take(&attempt_lock);
	while (count(ATTEMPT_RUNNING) > 0 &&
	    lock_wait_until(&attempt_moved, &attempt_lock, end))
		;
	lock_drop(&attempt_lock);
}
