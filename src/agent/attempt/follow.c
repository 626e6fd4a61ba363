/* follow.c: lets clients follow the output of an attempt. */
#include <sys/eventfd.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/internal.h"
#include "common/mem.h"

/* Of an earlier wrapper: it has ended, and its log is on the disk. */
static bool
open_disk(const char *id, struct attempt_follower *f)
{
	char path[JOURNAL_PATH_MAX];
	struct err ignored;

	if (!journal_read(id, &f->rec))
		return false;
	journal_log(id, path);
	(void)!ring_open(&f->disk, path, &ignored);
	return true;
}

int
attempt_follow(const char *id, struct attempt_follower *f, bool *known,
    struct err *e)
{
	*f = (struct attempt_follower){ .disk = { .fd = -1 } };
	f->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (f->news < 0)
		return err_errno(e, "eventfd");
	lock_take(&attempt_lock);
	f->attempt = journal_is_id(id) ? attempt_find(id) : NULL;
	/* one that has ended has closed its log, unless it is being followed */
	if (f->attempt != NULL && f->attempt->rec.state == ATTEMPT_ENDED &&
	    f->attempt->log.fd < 0)
		f->attempt = NULL;
	if (f->attempt != NULL) {
		f->attempt->refs++;
		attempt_followers_add(f);
	}
	lock_drop(&attempt_lock);
	*known = f->attempt != NULL || (journal_is_id(id) && open_disk(id, f));
	if (!*known)
		mem_close_fd(&f->news);
	return 0;
}

void
attempt_follow_state(struct attempt_follower *f)
{
	if (f->attempt == NULL)
		return;
	lock_take(&attempt_lock);
	f->rec = f->attempt->rec;
	lock_drop(&attempt_lock);
}

bool
attempt_follow_read(struct attempt_follower *f, int64_t offset,
    struct ring_block *b)
{
	bool more;

	if (f->attempt == NULL)
		return ring_read(&f->disk, offset, b);
	lock_take(&attempt_lock); /* the attempt may be about to open its log */
	more = ring_read(&f->attempt->log, offset, b);
	lock_drop(&attempt_lock);
	return more;
}

void
attempt_unfollow(struct attempt_follower *f)
{
	lock_take(&attempt_lock);
	if (f->attempt != NULL) {
		attempt_followers_remove(f);
		attempt_drop(f->attempt);
	}
	lock_drop(&attempt_lock);
	ring_close(&f->disk);
	mem_close_fd(&f->news);
}
