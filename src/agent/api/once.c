/* once.c: carries out a call only once for each Idempotency-Key. */
#include "agent/api/once.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/lock.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	KEPT_MS = 10 * 60 * 1000,
	ANSWER_MAX = 1024 * 1024,
	KEPT_BYTES_MAX =
	    16 * 1024 * 1024, /* bodies and answers, all together */
	WAITERS_MAX = 16,     /* each of them occupies a thread */
	LOOK_MS = 500 /* how often a waiting call checks for its client */
};

struct once {
	char key[ONCE_KEY_MAX];
	char *body;
	bool running;
	size_t waiting;   /* calls that wait for this one; not freed before 0 */
	int64_t until_ms; /* of clock_ms(): the answer expires then */
	int status;
	struct call_copy answer;
	struct once *next;
};

static struct lock lock = LOCK_INIT(LOCK_ONCE);
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static struct once *all; /* the newest first */
static size_t waiters;

int
once_key(const struct call *c, const char **out, struct err *e)
{
	const char *key = call_param(c, "HTTP_IDEMPOTENCY_KEY");

	*out = key;
	if (strlen(key) >= ONCE_KEY_MAX)
		return err_field(e, "Idempotency-Key",
		    "must have 1 to %d characters", ONCE_KEY_MAX - 1);
	for (; *key != '\0'; key++)
		if ((unsigned char)*key < 0x20 || (unsigned char)*key > 0x7e)
			return err_field(e, "Idempotency-Key",
			    "must be printable");
	return 0;
}

/* ---- the list; all with the lock held */

static struct once *
find(const char *key)
{
	struct once *o = all;

	while (o != NULL && !str_equal(o->key, key))
		o = o->next;
	return o;
}

static void
forget(struct once *gone)
{
	struct once **at = &all;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	buf_free(&gone->answer.text);
	free(gone->body);
	free(gone);
}

/* While a call runs, only its own thread may read the answer. */
static size_t
size_of(const struct once *o)
{
	return strlen(o->body) + (o->running ? 0 : o->answer.text.len);
}

/*
 * Frees answers that have expired, and the oldest ones beyond the limits.
 * False when there is still no room, because ONCE_MAX calls run or are waited
 * for.
 */
static bool
make_room(void)
{
	size_t count = 0, bytes = 0;
	int64_t now = clock_ms();

	for (struct once *o = all, *next; o != NULL; o = next) {
		next = o->next;
		count++;
		bytes += size_of(o);
		if (!o->running && o->waiting == 0 &&
		    (o->until_ms < now || count >= ONCE_MAX ||
			bytes > KEPT_BYTES_MAX)) {
			count--;
			bytes -= size_of(o);
			forget(o);
		}
	}
	return count < ONCE_MAX;
}

/* Begins a call in a new entry, or in one whose answer has expired. */
static struct once *
begin_call(struct once *o, const char *body)
{
	free(o->body);
	buf_free(&o->answer.text);
	o->body = xstrdup(body);
	o->answer = (struct call_copy){ .max = ANSWER_MAX };
	o->running = true;
	return o;
}

static struct once *
add_call(const char *key, const char *body, struct err *e)
{
	struct once *o;

	if (!make_room()) {
		err_set(e, ERR_LIMITED, CODE_TOO_MANY_AT_ONCE,
		    "%d commands with an Idempotency-Key run; wait for one",
		    ONCE_MAX);
		return NULL;
	}
	o = xcalloc(1, sizeof(*o));
	str_copy(o->key, sizeof(o->key), key);
	o->next = all;
	all = o;
	return begin_call(o, body);
}

static bool
has_left(const struct call *c)
{
	struct pollfd f = { call_fd(c), POLLRDHUP, 0 };

	return poll(&f, 1, 0) > 0;
}

/*
 * Waits until a call has ended, perhaps another one than `o`, but at most
 * LOOK_MS.  The caller tries again.
 */
static int
wait_for_end(const struct call *c, struct once *o, struct err *e)
{
	if (waiters >= WAITERS_MAX)
		return err_set(e, ERR_BUSY, CODE_BUSY,
		    "the command of this Idempotency-Key still runs; try again");
	if (has_left(c))
		return err_set(e, ERR_CONFLICT, CODE_CALL_LEFT,
		    "the client has gone");
	waiters++;
	o->waiting++;
	(void)lock_wait_until(&one_ended, &lock, clock_ms() + LOOK_MS);
	o->waiting--;
	waiters--;
	return 0;
}

/*
 * Finds the answer for the key, or begins the call: then *out is set and
 * *status stays 0.
 */
static int
find_answer(const struct call *c, const char *key, const char *body,
    int *status, struct buf *answer, struct once **out, struct err *e)
{
	struct once *o;

	while ((o = find(key)) != NULL &&
	    (o->running || o->until_ms >= clock_ms())) {
		if (!str_equal(o->body, body))
			return err_set(e, ERR_CONFLICT,
			    CODE_IDEMPOTENCY_MISMATCH,
			    "this Idempotency-Key was used with another body");
		if (!o->running && o->answer.over)
			return err_set(e, ERR_CONFLICT, CODE_ANSWER_NOT_KEPT,
			    "the command of this Idempotency-Key has run; its answer was too large to be kept");
		if (!o->running) {
			*status = o->status;
			buf_add(answer, o->answer.text.data,
			    o->answer.text.len);
			return 0;
		}
		if (wait_for_end(c, o, e) < 0)
			return -1;
	}
	*out = o != NULL ? begin_call(o, body) : add_call(key, body, e);
	return *out != NULL ? 0 : -1;
}

/* ---- calls */

int
once_begin(struct call *c, const char *key, const char *body, bool *first,
    struct once **out, struct err *e)
{
	auto_buf struct buf answer = { 0 };
	int status = 0, rc;

	*out = NULL;
	lock_take(&lock);
	rc = find_answer(c, key, body, &status, &answer, out, e);
	lock_drop(&lock);
	if (rc < 0)
		return -1;
	*first = *out != NULL;
	if (*first) {
		c->copy = &(*out)->answer;
	} else {
		call_header(c, "Idempotency-Replayed", "true");
		call_reply_bytes(c, status, "application/json", answer.data,
		    answer.len);
	}
	return 0;
}

void
once_end(struct once *o, struct call *c, bool keep)
{
	c->copy = NULL;
	lock_take(&lock);
	o->running = false;
	o->status = c->status;
	o->until_ms = keep ? clock_ms() + KEPT_MS : 0;
	if (!keep && o->waiting == 0)
		forget(o);
	pthread_cond_broadcast(&one_ended);
	lock_drop(&lock);
}
