/*
 * attempt.h: one attempt of an execution, as the wrapper that has it tells.
 *
 * provider/link/attempt.h asks a wrapper for it.
 */
#ifndef SANDLEASE_DOMAIN_ATTEMPT_H
#define SANDLEASE_DOMAIN_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"
#include "common/str.h"

enum { AGENT_REASON_MAX = 32, AGENT_TAIL_MAX = 16 * 1024 };

enum agent_attempt_state {
	AGENT_ATTEMPT_QUEUED,
	AGENT_ATTEMPT_RUNNING,
	AGENT_ATTEMPT_ENDED,
	AGENT_ATTEMPT__MAX
};

/* How far an attempt is.  Owned: agent_attempt_free(). */
struct agent_attempt {
	bool known; /* false: no wrapper of the session has seen it */
	enum agent_attempt_state state;
	char reason[AGENT_REASON_MAX]; /* an ended one's: succeeded, ... */
	int64_t exit_code, signal;
	int64_t began_ago_ms, ended_ago_ms; /* -1: not yet */
	char *message, *tail; /* why it could not run; the end of stderr */
	json_t *usage;
	int64_t bytes, dropped; /* of output in all; of that not kept */
	bool collected;         /* files are there that are to be kept */
	json_t *keys; /* of an ended one: correlation keys asked for inside */

	/* the output that was asked for */
	int64_t offset; /* of its first byte */
	struct buf output;
	json_t *streams; /* [[0: stdout, 1: stderr, bytes], ...] */
};

#define auto_attempt __attribute__((cleanup(agent_attempt_free)))
void agent_attempt_free(struct agent_attempt *a);

#endif
