/* watch.c: keeps the watches, runs their thread and makes their versions. */
#include "agent/watch/watch.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "agent/watch/internal.h"
#include "common/clock.h"
#include "common/mem.h"

/* Held by every thread that uses a watch, or anything of watch/internal.h. */
static struct lock lock = LOCK_INIT(LOCK_WATCH);

static int wake = -1;   /* an eventfd that wakes the thread */
static int64_t born_ms; /* time of the first watch; part of every id */
static int64_t made;    /* number of watches so far */

/* ---- options */

static void
free_list(char **list)
{
	for (char **at = list; at != NULL && *at != NULL; at++)
		free(*at);
	free(list);
}

void
watch_options_free(struct watch_options *w)
{
	free(w->top);
	free(w->real);
	free(w->only);
	free_list(w->include);
	free_list(w->exclude);
	*w = (struct watch_options){ 0 };
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : str_equal(a, b);
}

static bool
same_list(char *const *a, char *const *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (; *a != NULL && *b != NULL; a++, b++)
		if (!str_equal(*a, *b))
			return false;
	return *a == *b;
}

static bool
same_options(const struct watch_options *a, const struct watch_options *b)
{
	return str_equal(a->real, b->real) && same_text(a->only, b->only) &&
	    a->recursive == b->recursive && a->types == b->types &&
	    same_list(a->include, b->include) &&
	    same_list(a->exclude, b->exclude);
}

/* ---- the thread */

static void
wake_thread(void)
{
	(void)!eventfd_write(wake, 1);
}

static size_t
count_watches(bool streams)
{
	size_t n = 0;

	for (const struct watch *w = watches.all; w != NULL; w = w->next)
		n += (w->news >= 0) == streams;
	return n;
}

/* Of retained watches used at the same time, the one made first. */
static struct watch *
longest_idle(void)
{
	struct watch *found = NULL;

	for (struct watch *w = watches.all; w != NULL; w = w->next)
		if (w->news < 0 &&
		    (found == NULL || w->used_ms <= found->used_ms))
			found = w;
	return found;
}

static void
free_watch(struct watch *w)
{
	for (struct watch **at = &watches.all; *at != NULL; at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	watch_tree_drop(w);
	watch_options_free(&w->options);
	changes_free(&w->pending.changes);
	mem_close_fd(&w->news);
	free(w);
}

static void
drop_idle(int64_t now_ms)
{
	struct watch *w;

	while ((w = longest_idle()) != NULL &&
	    now_ms - w->used_ms >= WATCH_IDLE_MS)
		free_watch(w);
}

/* The time until a watch is idle for too long or ready; -1: for ever. */
static int
until_due_ms(void)
{
	const struct watch *idle = longest_idle();
	int ms =
	    idle != NULL ? clock_left_ms(idle->used_ms + WATCH_IDLE_MS) : -1;

	for (const struct watch *w = watches.all; w != NULL; w = w->next) {
		int held = watch_held_ms(w);

		if (w->untold && held > 0 && (ms < 0 || held < ms))
			ms = held;
	}
	return ms;
}

/* The thread; runs while there is a watch. */
static void *
follow_kernel(void *arg)
{
	struct pollfd p[2];
	eventfd_t seen;
	int ms = -1;

	(void)arg;
	lock_take(&lock);
	p[0] = (struct pollfd){ watches.inotify, POLLIN, 0 };
	p[1] = (struct pollfd){ wake, POLLIN, 0 };
	while (watches.all != NULL) {
		lock_drop(&lock);
		(void)poll(p, ARRAY_LEN(p), ms);
		lock_take(&lock);
		(void)eventfd_read(wake, &seen);
		watch_drain();
		drop_idle(clock_ms());
		ms = until_due_ms();
		/* last: a watch that until_due_ms() skips is ready by now */
		watch_announce();
	}
	mem_close_fd(&watches.inotify);
	mem_close_fd(&wake);
	lock_drop(&lock);
	malloc_trim(0);
	return NULL;
}

static int64_t
wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int
start_thread(struct err *e)
{
	if (watches.inotify >= 0)
		return 0;
	watches.consumed = 0;
	watches.inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watches.inotify >= 0 && wake >= 0 &&
	    serve_thread(follow_kernel, NULL) == 0) {
		born_ms = born_ms > 0 ? born_ms : wall_ms();
		return 0;
	}
	err_errno(e, "files cannot be watched");
	e->code = CODE_WATCH_START_ERROR;
	mem_close_fd(&watches.inotify);
	mem_close_fd(&wake);
	return -1;
}

/* ---- making a watch */

static int
add_watch(struct watch_options *options, bool stream, struct watch **out,
    struct err *e)
{
	struct watch *w;

	if (start_thread(e) < 0)
		return -1;
	w = xcalloc(1, sizeof(*w));
	w->options = *options;
	*options = (struct watch_options){ 0 };
	w->news = stream ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
	w->next = watches.all;
	watches.all = w;
	snprintf(w->id, sizeof(w->id), "watch-%lld-%lld", (long long)++made,
	    (long long)born_ms);
	wake_thread(); /* to poll with new times, or to end if w fails */
	if (stream && w->news < 0) {
		err_errno(e, "files cannot be watched");
		e->code = CODE_WATCH_START_ERROR;
	} else if (watch_tree_build(w, e) == 0) {
		*out = w;
		return 0;
	}
	free_watch(w);
	return -1;
}

/* ---- streams */

int
watch_open(struct watch_options *options, struct watch **out, struct err *e)
{
	int rc;

	lock_take(&lock);
	if (count_watches(true) < WATCH_STREAMS_MAX)
		rc = add_watch(options, true, out, e);
	else
		rc = err_set(e, ERR_LIMITED, CODE_WATCH_START_ERROR,
		    "the session has %d watches; end some of them",
		    WATCH_STREAMS_MAX);
	lock_drop(&lock);
	return rc;
}

void
watch_close(struct watch *w)
{
	lock_take(&lock);
	free_watch(w);
	wake_thread();
	lock_drop(&lock);
}

const char *
watch_id(const struct watch *w)
{
	return w->id;
}

int
watch_fd(const struct watch *w)
{
	return w->news;
}

bool
watch_take(struct watch *w, struct watch_news *out)
{
	bool ready;

	lock_take(&lock);
	ready = watch_is_ready(w);
	if (ready) {
		*out = w->pending;
		w->pending = (struct watch_news){ 0 };
		w->untold = false;
	}
	lock_drop(&lock);
	return ready;
}

/* ---- versions: "<id>:<cursor>" */

static const char DIGITS[] = "0123456789";

bool
watch_is_version(const char *text)
{
	static const char BETWEEN[] = "--:";

	if (strlen(text) >= WATCH_VERSION_MAX || !str_starts(text, "watch"))
		return false;
	text += strlen("watch");
	for (const char *mark = BETWEEN; *mark != '\0'; mark++) {
		if (*text != *mark || strspn(text + 1, DIGITS) == 0)
			return false;
		text += 1 + strspn(text + 1, DIGITS);
	}
	return *text == '\0';
}

/* `since` is a version of another watch, perhaps of an earlier wrapper. */
static enum watch_answer
judge_foreign(const char *since)
{
	int64_t when = 0;
	char text[WATCH_VERSION_MAX];

	str_copy(text, sizeof(text), strrchr(since, '-') + 1);
	*strchr(text, ':') = '\0';
	return str_to_int(text, 0, INT64_MAX, &when) && when == born_ms
	    ? WATCH_EXPIRED
	    : WATCH_RESTARTED;
}

static enum watch_answer
judge_version(const struct watch *w, const char *since)
{
	size_t len = strlen(w->id);
	int64_t cursor;

	if (since == NULL)
		return WATCH_UNCHANGED;
	if (strncmp(since, w->id, len) != 0 || since[len] != ':' ||
	    !str_to_int(since + len + 1, 0, w->cursor, &cursor))
		return judge_foreign(since);
	return cursor == w->cursor ? WATCH_UNCHANGED : WATCH_CHANGED;
}

/* ---- retained watches */

static struct watch *
find_retained(const struct watch_options *options)
{
	struct watch *w = watches.all;

	while (
	    w != NULL && (w->news >= 0 || !same_options(&w->options, options)))
		w = w->next;
	return w;
}

/* Finds, rebuilds or makes the watch with these options; NULL: it failed. */
static struct watch *
get_retained(struct watch_options *options, struct err *e)
{
	struct watch *w = find_retained(options);

	if (w != NULL)
		return w->root != NULL || watch_tree_build(w, e) == 0 ? w
								      : NULL;
	if (count_watches(false) >= WATCH_RETAINED_MAX)
		free_watch(longest_idle());
	return add_watch(options, false, &w, e) == 0 ? w : NULL;
}

int
watch_check(struct watch_options *options, const char *since,
    enum watch_answer *out, char version[WATCH_VERSION_MAX], struct err *e)
{
	struct watch *w;

	lock_take(&lock);
	if (watches.inotify >= 0) {
		watch_drain();
		/* poll() does not show the thread the events just read */
		wake_thread();
	}
	w = get_retained(options, e);
	if (w != NULL) {
		*out = judge_version(w, since);
		w->used_ms = clock_ms();
		snprintf(version, WATCH_VERSION_MAX, "%s:%lld", w->id,
		    (long long)w->cursor);
	}
	lock_drop(&lock);
	return w != NULL ? 0 : -1;
}

void
watch_sweep(int64_t now_ms)
{
	lock_take(&lock);
	drop_idle(now_ms);
	wake_thread();
	lock_drop(&lock);
}
