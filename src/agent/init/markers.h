/*
 * markers.h: finds wrappers outside any cell, by variables in their environment
 * (the session's marker).
 *
 * It finds wrappers that an agent of another version started beside init.  This
 * is a weaker source than the table of cells: it can add a wrapper to those
 * found, but to find none proves nothing.  Only processes of init's own pid
 * namespace count, so that a process in one session's cell cannot pass for a
 * wrapper of another session.
 */
#ifndef SANDLEASE_AGENT_INIT_MARKERS_H
#define SANDLEASE_AGENT_INIT_MARKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/id.h"
#include "common/json.h"

enum { MARKED_MAX = 8 }; /* in a list */

struct marked {
	pid_t pid;
	char instance[ID_MAX]; /* "": its environment has none */
	int64_t generation;    /* 0: its environment has none */
};

/* Sends a signal to all living processes that carry the session's marker. */
void markers_signal(const char *session, int signal);

/*
 * Adds {"instance","generation"} of these processes to `list`, until it has
 * MARKED_MAX entries.
 */
void markers_append(const char *session, json_t *list);

/*
 * True when an environment (entries that end with NUL, `len` bytes in all) has
 * the session's marker; *out gets the other values.  An incomplete last entry
 * is ignored.  For the test.
 */
bool markers_read(const char *env, size_t len, const char *session,
    struct marked *out);

/*
 * True when a text of /proc/PID/status belongs to a living process in the
 * reader's own pid namespace.  For the test.
 */
bool markers_is_outside(const char *status);

#endif
