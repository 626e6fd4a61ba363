/*
 * setup.h: the command that is run before the session is ready.
 *
 * Once in the life of a wrapper: whoever asks first begins it, whoever asks
 * later hears what it has said and how it ended.  It runs sessionless, in
 * /workspace.  The beginning of its output is kept, and the end.
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
	int fd;             /* the command; -1: only whether it has begun */
	int64_t timeout_ms; /* it may take */
	int64_t offset;     /* what the asker has heard of its output */
	int64_t wait_ms;    /* for more of it, or its end */
};

/*
 * {begun, done, offset, bytes, output, exitCode, ms}: output is what stands
 * between the asker's offset and the new one, or, once it is done and all was
 * heard, its end.
 */
int setup_ask(const struct setup_question *q, json_t *reply, struct err *e)
    MUST_CHECK;

#endif
