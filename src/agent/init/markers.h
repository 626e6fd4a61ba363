/*
 * markers.h: wrappers that no cell encloses, by what their environment says.
 *
 * A second, weaker source: it finds what an agent of another version started
 * beside init.  It may add to what was found, never prove an absence; and it
 * looks only at processes of init's own pid namespace, so that nothing in one
 * session's cell can pass for another session's.
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
	char instance[ID_MAX]; /* "" when it does not say */
	int64_t generation;    /* 0 when it does not say */
};

/* Sends a signal to all living processes that carry the session's marker. */
void markers_signal(const char *session, int signal);

/* Adds them to a list of {"instance","generation"}, until it has MARKED_MAX. */
void markers_append(const char *session, json_t *list);

/*
 * Whether an environment (entries that end with NUL, `len` bytes in all) is
 * that session's, and what else it says.  Whole entries only.  For the test.
 */
bool markers_read(const char *env, size_t len, const char *session,
    struct marked *out);

/*
 * Whether the text of /proc/PID/status is of a living process of the reader's
 * own pid namespace.  For the test.
 */
bool markers_is_outside(const char *status);

#endif
