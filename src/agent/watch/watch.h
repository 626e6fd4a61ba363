/*
 * watch.h: who wants to know what happens to files.
 *
 * One inotify instance serves all watches of the session (the kernel counts
 * them per sandbox), and one thread reads it: a tree takes as long to look
 * through as it is large, and relays and processes must not wait for that.  Both
 * are there from the first watch to the last.
 *
 * Two kinds: a stream takes its changes as they come; a retained one only
 * counts them, for whoever asks later whether there were any.
 */
#ifndef SANDLEASE_AGENT_WATCH_WATCH_H
#define SANDLEASE_AGENT_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/watch/changes.h"
#include "common/err.h"

enum {
	WATCH_STREAMS_MAX = 64,
	WATCH_RETAINED_MAX = 64, /* the one not asked for longest goes */
	WATCH_DIRS_MAX = 16384,  /* of all watches together */
	WATCH_PATTERNS_MAX = 64,
	WATCH_IDLE_MS =
	    10 * 60 * 1000, /* a retained one that nobody asks for */
	WATCH_ID_MAX = 48,
	WATCH_VERSION_MAX = WATCH_ID_MAX + 24
};

struct watch; /* of a stream; from watch_open() to watch_close() */

/* What is watched.  Everything it points to is its own. */
struct watch_options {
	char *top;  /* absolute: nothing above it is looked at */
	char *real; /* the directory, at `top` or below, without links */
	char *only; /* a name in it: just that; NULL: all */
	bool recursive;
	unsigned types; /* 1 << enum change_type */
	char **include; /* patterns, NULL at the end; NULL: whatever it is */
	char **exclude; /* not even looked into */
};

void watch_options_free(struct watch_options *w);
#define auto_watch_options __attribute__((cleanup(watch_options_free)))

/*
 * Every change from now on.  The wish is taken over.  "watch_start_error" when
 * there are too many of something; "file_not_found" when it has gone.
 */
int watch_open(struct watch_options *options, struct watch **out, struct err *e)
    MUST_CHECK;
void watch_close(struct watch *w);

/* "watch-<number>-<when the first of this wrapper was made>". */
const char *watch_id(const struct watch *w);

/* Readable when there is something to take. */
int watch_fd(const struct watch *w);

/* What came since; paths are relative, "" is what was asked for itself. */
struct watch_news {
	struct changes changes;
	bool lost;           /* more happened, and nobody knows what */
	const char *stopped; /* why nothing will come any more; NULL: it may */
};

/* False when there is nothing yet. */
bool watch_take(struct watch *w, struct watch_news *out);

enum watch_answer {
	WATCH_UNCHANGED,
	WATCH_CHANGED,
	WATCH_EXPIRED,   /* not known any more: nobody asked for too long */
	WATCH_RESTARTED, /* ... or it was another wrapper's */
};

/*
 * Whether something happened since the version; NULL: none, then it begins now.
 * Everything counts that was done before the call.  The wish is taken over.
 */
int watch_check(struct watch_options *options, const char *since,
    enum watch_answer *out, char version[WATCH_VERSION_MAX], struct err *e)
    MUST_CHECK;

/* Whether it has the form of a version.  Pure. */
bool watch_is_version(const char *text);

/*
 * Forgets what has been idle for too long at that time.  The thread does so by
 * itself; this is for tests, which cannot wait for it.
 */
void watch_sweep(int64_t now_ms);

#endif
