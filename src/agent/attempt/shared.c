/* shared.c: the lock of all attempts, and what their threads tell each other. */
#include <sys/eventfd.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/internal.h"

struct lock attempt_lock = LOCK_INIT(LOCK_ATTEMPT);
pthread_cond_t attempt_moved = PTHREAD_COND_INITIALIZER;

static struct attempt_follower *followers; /* under the lock */

void
attempt_followers_add(struct attempt_follower *f)
{
	f->next = followers;
	followers = f;
}

void
attempt_followers_remove(struct attempt_follower *f)
{
	struct attempt_follower **at = &followers;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
}

void
attempt_news_locked(void)
{
	pthread_cond_broadcast(&attempt_moved);
	for (struct attempt_follower *f = followers; f != NULL; f = f->next)
		eventfd_write(f->news, 1);
}

void
attempt_news(void)
{
	lock_take(&attempt_lock);
	attempt_news_locked();
	lock_drop(&attempt_lock);
}

static bool leaving; /* under the lock */

void
attempt_leave(void)
{
	lock_take(&attempt_lock);
	leaving = true;
	attempt_news_locked();
	lock_drop(&attempt_lock);
}

bool
attempt_is_leaving_locked(void)
{
	return leaving;
}

bool
attempt_is_leaving(int64_t wait_ms)
{
	int64_t end = clock_ms() + wait_ms;
	bool is;

	lock_take(&attempt_lock);
	while (!leaving && lock_wait_until(&attempt_moved, &attempt_lock, end))
		;
	is = leaving;
	lock_drop(&attempt_lock);
	return is;
}

void
attempt_stop_locked(struct attempt *a, enum attempt_reason why)
{
	if (a->rec.state != ATTEMPT_RUNNING || a->stop != REASON_NONE)
		return;
	a->stop = why;
	eventfd_write(a->wake, 1);
}

void
attempt_stop(struct attempt *a, enum attempt_reason why)
{
	lock_take(&attempt_lock);
	attempt_stop_locked(a, why);
	lock_drop(&attempt_lock);
}

enum attempt_reason
attempt_told(struct attempt *a)
{
	enum attempt_reason why;

	lock_take(&attempt_lock);
	why = a->stop;
	lock_drop(&attempt_lock);
	return why;
}
