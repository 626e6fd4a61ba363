/*
 * log.h: one line per event, to stderr.
 *
 * key=value or JSON (settings log_level and log_format).  Where stderr is
 * systemd's journal, key=value has the <n> in front by which the journal knows
 * a line's priority.  What came from outside is
 * filtered of control characters.  Never a token, never a body.
 */
#ifndef SANDLEASE_COMMON_LOG_H
#define SANDLEASE_COMMON_LOG_H

#include <stdint.h>

#include "common/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG__MAX };
enum log_format { LOG_KV, LOG_JSON, LOG_FORMAT__MAX };

extern const char *const LOG_LEVEL_NAMES[];  /* NULL at the end */
extern const char *const LOG_FORMAT_NAMES[]; /* NULL at the end */

/* Once, before the first line.  `program` must outlive the process. */
void log_open(const char *program, enum log_level level,
    enum log_format format);

/*
 * Keeps stderr, a file that is open for reading and appending, below `bytes`:
 * past that its older half goes.  0: no limit.
 */
void log_limit(int64_t bytes);

/*
 * Context that every line carries until it is set again; "" leaves one out.
 * Per thread, so that the agent's threads do not mix theirs.
 */
void log_context(const char *request_id, const char *session_id);

/* `event` is a short fixed word; the message says the rest. */
void log_line(enum log_level level, const char *event, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* An error a main loop has decided to handle by telling the operator. */
void log_err(enum log_level level, const char *event, const struct err *e);

#endif
