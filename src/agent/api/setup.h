/*
 * setup.h: runs the setup, the tenant's command that runs before the session is
 * ready.
 *
 * A wrapper runs it at most once: the first setup_ask() with a command starts
 * it, and later ones return its output and exit code.  It runs in a process of
 * its own, without a shell's state, in /workspace.  The first SETUP_HEAD_MAX
 * and the last SETUP_TAIL_MAX bytes of its output are kept.
 */
#ifndef SANDLEASE_AGENT_API_SETUP_H
#define SANDLEASE_AGENT_API_SETUP_H

#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

enum {
	SETUP_COMMAND_MAX = 64 * 1024,
	SETUP_HEAD_MAX = 64 * 1024,
	SETUP_TAIL_MAX = 4096
};

struct setup_question {
	int fd;             /* a file with the command; -1: do not start it */
	int64_t timeout_ms; /* the setup may take this long */
	int64_t offset;     /* bytes of output that the caller already has */
	int64_t wait_ms;    /* how long to wait for more output or the end */
};

/*
 * Adds {begun, done, offset, bytes, output, exitCode, ms} to `reply`.  `output`
 * is the part between q->offset and the new offset.  `done` is true when the
 * setup has ended and the caller has all of its first bytes: `output` is then
 * the last SETUP_TAIL_MAX bytes.
 */
int setup_ask(const struct setup_question *q, json_t *reply, struct err *e)
    MUST_CHECK;

#endif
