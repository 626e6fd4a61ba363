/*
 * collected.h: collects the output of a command for api/execute, which answers
 * when the command has ended.
 *
 * There is a limit for each stream, and one for all calls together.  Output
 * beyond a limit is dropped, so the command is never blocked.
 */
#ifndef SANDLEASE_AGENT_API_COLLECTED_H
#define SANDLEASE_AGENT_API_COLLECTED_H

#include <stdint.h>

#include "agent/shell/exec.h"
#include "common/str.h"
#include "web/call.h"

struct collected {
	struct buf text[2]; /* stdout, stderr */
	bool truncated;     /* some output was dropped */
};

/* A pump_output_fn; ctx is the struct collected. */
void collected_add(void *ctx, int which, const char *data, size_t len);
void collected_free(struct collected *k);

/* Answers 200 {success, exitCode, stdout, stderr, ...}. */
void collected_reply(struct call *c, const struct exec *x,
    const struct collected *k, const struct shell_outcome *o, int64_t took_ms);

/*
 * The context of an error: {sessionId, command, executionId, stdout, stderr}.
 * A long stream is cut at its beginning, because its end says more about the
 * error.
 */
json_t *collected_context(const struct exec *x, const struct collected *k);

#endif
