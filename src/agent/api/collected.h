/*
 * collected.h: the output of a command that is answered at once, by
 * api/execute.
 *
 * Each stream is kept up to a limit, and so is what all calls keep together;
 * the command itself is never held up.
 */
#ifndef SANDLEASE_AGENT_API_COLLECTED_H
#define SANDLEASE_AGENT_API_COLLECTED_H

#include <stdint.h>

#include "agent/shell/exec.h"
#include "common/str.h"
#include "web/call.h"

struct collected {
	struct buf text[2]; /* stdout, stderr */
	bool truncated;
};

/* A pump_output_fn; ctx is the struct collected. */
void collected_add(void *ctx, int which, const char *data, size_t len);
void collected_free(struct collected *k);

/* 200 {success, exitCode, stdout, stderr, ...} */
void collected_reply(struct call *c, const struct exec *x,
    const struct collected *k, const struct shell_outcome *o, int64_t took_ms);

/*
 * The context of an error: {sessionId, command, executionId, stdout, stderr}.
 * Of each stream the end, which tells more than its beginning.
 */
json_t *collected_context(const struct exec *x, const struct collected *k);

#endif
