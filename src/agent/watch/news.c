/* news.c: decides which changes a watch tells its client, and when. */
#include <sys/eventfd.h>

#include "agent/watch/internal.h"
#include "common/clock.h"
#include "common/glob.h"

enum { HOLD_MAX_MS = 75 };

/* ---- which */

static bool
matches_any(char *const *patterns, const char *path)
{
	for (; patterns != NULL && *patterns != NULL; patterns++)
		if (glob_match(*patterns, path))
			return true;
	return false;
}

bool
watch_excludes(const struct watch *w, const char *path)
{
	return matches_any(w->options.exclude, path);
}

/* ---- telling */

void
watch_mark_untold(struct watch *w)
{
	if (!w->untold)
		w->untold_ms = clock_ms();
	w->untold = true;
}

void
watch_note(struct watch *w, enum change_type type, bool directory,
    const char *path)
{
	if ((w->options.types & 1u << type) == 0 ||
	    (path[0] != '\0' && w->options.include != NULL &&
		!matches_any(w->options.include, path)))
		return;
	w->cursor++;
	if (w->news < 0)
		return;
	changes_add(&w->pending.changes, type, directory, path);
	watch_mark_untold(w);
}

void
watch_stop(struct watch *w, const char *why)
{
	watch_tree_drop(w);
	w->cursor++;
	w->pending.stopped = why;
	watch_mark_untold(w);
	w->held_until = w->held_ms = 0;
}

/* ---- when */

int
watch_held_ms(const struct watch *w)
{
	int held = clock_left_ms(w->held_ms);
	int most = clock_left_ms(w->untold_ms + HOLD_MAX_MS);

	return held < most ? held : most;
}

/*
 * Changes are held back for a moment, so that none is told twice.  But twice is
 * better than late or dropped: the hold ends after HOLD_MAX_MS, also while new
 * directories come without end, and when half of the room is used.
 */
bool
watch_is_ready(const struct watch *w)
{
	return w->untold &&
	    ((watches.consumed >= w->held_until &&
		 clock_left_ms(w->held_ms) == 0) ||
		clock_left_ms(w->untold_ms + HOLD_MAX_MS) == 0 ||
		w->pending.changes.count >= CHANGES_MAX / 2);
}

void
watch_announce(void)
{
	for (struct watch *w = watches.all; w != NULL; w = w->next)
		if (w->news >= 0 && watch_is_ready(w))
			(void)!eventfd_write(w->news, 1);
}
