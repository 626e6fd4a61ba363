/* loop.c: waits for many descriptors in one thread. */
#include "agent/base/loop.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/poller.h"

enum { EVENTS_MAX = 32, SECOND_MS = 1000, SECONDS_FNS_MAX = 8 };

struct loop_request {
	void (*fn)(void *arg);
	void *arg;
	bool done;
	struct loop_request *next;
};

static struct lock lock = LOCK_INIT(LOCK_LOOP);
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct loop_request *requests;
static struct poller poller = { .epoll_fd = -1 };
static int wake_fd = -1;
static void (*each_second[SECONDS_FNS_MAX])(void);
static char *chunk; /* owned; NULL: nothing was read so far */

static void
run_requests(struct loop_item *item, uint32_t events)
{
	uint64_t n;

	(void)item;
	(void)events;
	(void)!read(wake_fd, &n, sizeof(n));
	lock_take(&lock);
	while (requests != NULL) {
		struct loop_request *r = requests;

		requests = r->next;
		lock_drop(&lock);
		r->fn(r->arg);
		lock_take(&lock);
		r->done = true;
	}
	pthread_cond_broadcast(&answered);
	lock_drop(&lock);
}

static struct loop_item wake_item = { .ready = run_requests };

/*
 * A callback may close an item that has another event in the same batch.  The
 * owner therefore frees an item only in its loop_each_second() callback, which
 * runs after the batch.
 */
static void *
run_loop(void *arg)
{
	int64_t last_ms = clock_ms();

	(void)arg;
	for (;;) {
		struct epoll_event ev[EVENTS_MAX];
		int n = poller_wait(&poller, ev, EVENTS_MAX, SECOND_MS, NULL);

		for (int i = 0; i < n; i++) {
			struct loop_item *item = ev[i].data.ptr;

			item->ready(item, ev[i].events);
		}
		if (clock_ms() - last_ms < SECOND_MS)
			continue;
		last_ms = clock_ms();
		for (int i = 0; i < SECONDS_FNS_MAX; i++)
			if (each_second[i] != NULL)
				each_second[i]();
	}
	return NULL;
}

/* The caller holds the lock. */
static int
start_loop(struct err *e)
{
	if (poller.epoll_fd >= 0)
		return 0;
	wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (poller_open(&poller) == 0 && wake_fd >= 0 &&
	    loop_watch(wake_fd, EPOLLIN, &wake_item) == 0 &&
	    serve_thread(run_loop, NULL) == 0)
		return 0;
	err_errno(e, "cannot start the thread that waits for descriptors");
	mem_close_fd(&wake_fd);
	poller_close(&poller);
	return -1;
}

int
loop_call(void (*fn)(void *arg), void *arg, struct err *e)
{
	struct loop_request r = { .fn = fn, .arg = arg };
	struct loop_request **at = &requests;
	uint64_t one = 1;

	lock_take(&lock);
	if (start_loop(e) < 0) {
		lock_drop(&lock);
		return -1;
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = &r;
	(void)!write(wake_fd, &one, sizeof(one));
	while (!r.done)
		lock_wait(&answered, &lock);
	lock_drop(&lock);
	return 0;
}

int
loop_watch(int fd, uint32_t events, struct loop_item *item)
{
	return poller_add(&poller, fd, events, item);
}

void
loop_change(int fd, uint32_t events, struct loop_item *item)
{
	(void)!poller_change(&poller, fd, events, item);
}

void
loop_forget(int fd)
{
	poller_remove(&poller, fd);
}

char *
loop_chunk(void)
{
	if (chunk == NULL)
		chunk = xmalloc(LOOP_CHUNK);
	return chunk;
}

void
loop_each_second(void (*fn)(void))
{
	for (int i = 0; i < SECONDS_FNS_MAX; i++) {
		if (each_second[i] == NULL || each_second[i] == fn) {
			each_second[i] = fn;
			return;
		}
	}
}
