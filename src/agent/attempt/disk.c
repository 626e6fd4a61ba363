/* disk.c: measures how much the session's files grow during an attempt. */
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/attempt/internal.h"
#include "agent/base/serve.h"
#include "agent/init/disk_usage.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	EVERY_MS = 200,  /* the least time between two measurements */
	REST_TIMES = 10, /* and of the duration of the last one */
	BUDGET_MS = 2000,
	/* the attempt waits for the first one; if that takes longer, what it
	 * writes until the next is not counted */
	FIRST_BUDGET_MS = 200,
	ENTRIES_MAX = 1000 * 1000,
	BLOCK_BYTES = 512
};

static const char *const PLACES[] = { "/workspace", "/home/user",
	"/var/backups" };

struct attempt_disk {
	struct attempt *of;
	int64_t limit;
	int over;      /* an eventfd: no more is to be measured */
	int done;      /* an eventfd: the thread has ended */
	int64_t first; /* bytes before the attempt; -1: not measured */
};

/* Without the log, which is ours.  -1: not everything could be counted. */
static int64_t
measure(const struct attempt_disk *d, int64_t budget_ms)
{
	struct disk_usage u = { .whole = true,
		.entries = ENTRIES_MAX,
		.until = clock_ms() + budget_ms };
	char path[JOURNAL_PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(PLACES); i++)
		if (access(PLACES[i], F_OK) == 0)
			disk_usage_tree(PLACES[i], &u);
	journal_log(d->of->rec.id, path);
	if (lstat(path, &st) == 0) {
		int64_t log = (int64_t)st.st_blocks * BLOCK_BYTES;

		/* as disk_usage_tree() has counted it */
		u.bytes -= log > USAGE_INODE_BYTES ? log : USAGE_INODE_BYTES;
	}
	return u.whole ? u.bytes : -1;
}

static int64_t
growth(struct attempt_disk *d, int64_t budget_ms)
{
	int64_t now = measure(d, budget_ms);

	if (d->first < 0)
		d->first = now;
	return now < 0 ? -1 : now - d->first;
}

/* False when the attempt is over. */
static bool
rest(const struct attempt_disk *d, int64_t took_ms)
{
	struct pollfd f = { d->over, POLLIN, 0 };
	int64_t ms = took_ms * REST_TIMES;

	return poll(&f, 1, (int)(ms > EVERY_MS ? ms : EVERY_MS)) == 0;
}

static void *
watch_disk(void *arg)
{
	struct attempt_disk *d = arg;
	int64_t took_ms = 0;

	while (rest(d, took_ms)) {
		int64_t began_ms = clock_ms();

		/* a file cannot be larger than the limit: it is met, not passed */
		if (growth(d, BUDGET_MS) >= d->limit)
			attempt_stop(d->of, REASON_DISK);
		took_ms = clock_ms() - began_ms;
	}
	eventfd_write(d->done, 1);
	return NULL;
}

struct attempt_disk *
attempt_disk_begin(struct attempt *a)
{
	struct attempt_disk *d;

	if (a->spec.limits.disk_mb <= 0)
		return NULL;
	d = xcalloc(1, sizeof(*d));
	*d = (struct attempt_disk){ .of = a,
		.limit = a->spec.limits.disk_mb << 20,
		.over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.done = eventfd(0, EFD_CLOEXEC),
		.first = -1 };
	d->first = measure(d, FIRST_BUDGET_MS);
	if (d->over < 0 || d->done < 0 || serve_thread(watch_disk, d) < 0) {
		mem_close_fd(&d->over);
		mem_close_fd(&d->done);
		mem_free_ptr(&d);
	}
	return d;
}

int64_t
attempt_disk_end(struct attempt_disk *d)
{
	eventfd_t ignored;
	int64_t more;

	if (d == NULL)
		return -1;
	eventfd_write(d->over, 1);
	eventfd_read(d->done, &ignored);
	more = growth(d, BUDGET_MS);
	close(d->over);
	close(d->done);
	free(d);
	return more;
}
