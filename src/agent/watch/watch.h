/*
 * watch.h: watches files and directories for clients.
 *
 * One inotify instance serves all watches of the session (the kernel counts
 * instances per sandbox), and a thread of its own reads it: reading a large
 * tree takes long, and relays and processes must not wait for that.  Instance
 * and thread exist while there is a watch.
 *
 * There are two kinds of watches.  A stream collects changes, and its client
 * takes them as they come.  A retained watch only counts changes, for a client
 * that asks later whether there were any.
 */
#ifndef SANDLEASE_AGENT_WATCH_WATCH_H
#define SANDLEASE_AGENT_WATCH_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/watch/changes.h"
#include "common/err.h"

enum {
	WATCH_STREAMS_MAX = 64,
	WATCH_RETAINED_MAX = 64, /* then the least recently used goes */
	WATCH_DIRS_MAX = 16384,  /* of all watches together */
	WATCH_PATTERNS_MAX = 64,
	WATCH_IDLE_MS = 10 * 60 * 1000, /* after it, a retained one goes */
	WATCH_ID_MAX = 48,
	WATCH_VERSION_MAX = WATCH_ID_MAX + 24
};

struct watch; /* from watch_open() to watch_close() */

/* The options of a watch, which own all that they point to. */
struct watch_options {
	char *top;  /* absolute: nothing above it is watched */
	char *real; /* the directory to watch: top or below, without links */
	char *only; /* watch just this name in `real`; NULL: all */
	bool recursive;
	unsigned types; /* 1 << enum change_type */
	char **include; /* patterns, NULL at the end; NULL: everything */
	char **exclude; /* patterns; matching directories are not read */
};

void watch_options_free(struct watch_options *w);
#define auto_watch_options __attribute__((cleanup(watch_options_free)))

/*
 * Starts a stream of all changes from now on.  Takes over the options.
 * "watch_start_error" when a limit is reached; "file_not_found" when the
 * directory is gone.
 */
int watch_open(struct watch_options *options, struct watch **out, struct err *e)
    MUST_CHECK;
void watch_close(struct watch *w);

/* "watch-<number>-<time of this wrapper's first watch>". */
const char *watch_id(const struct watch *w);

/* Readable when watch_take() has something. */
int watch_fd(const struct watch *w);

/* Changes since the last take.  Paths are relative; "": the watched path. */
struct watch_news {
	struct changes changes;
	bool lost;           /* more changes came, and are unknown */
	const char *stopped; /* why the watch has ended; NULL: it goes on */
};

/* Moves the collected changes to *out.  False when there are none yet. */
bool watch_take(struct watch *w, struct watch_news *out);

enum watch_answer {
	WATCH_UNCHANGED,
	WATCH_CHANGED,
	WATCH_EXPIRED,   /* the watch was dropped: not asked for too long */
	WATCH_RESTARTED, /* the version is of an earlier wrapper */
};

/*
 * Whether something changed since the version `since`; NULL: no version, begin
 * now.  Counts all changes made before the call.  Takes over the options.
 */
int watch_check(struct watch_options *options, const char *since,
    enum watch_answer *out, char version[WATCH_VERSION_MAX], struct err *e)
    MUST_CHECK;

/* Whether `text` has the form of a version.  Pure. */
bool watch_is_version(const char *text);

/*
 * Drops the retained watches that are idle for too long at that time.  The
 * thread does so by itself; this is for tests, which cannot wait for it.
 */
void watch_sweep(int64_t now_ms);

#endif
