/*
 * log.h: writes one line per event to stderr.
 *
 * A line is key=value or JSON (settings log_level and log_format).  If stderr
 * is systemd's journal, a key=value line begins with <n>, from which the
 * journal takes its priority.  Control characters in values are replaced.
 * Callers never log a token or a body.
 */
#ifndef SANDLEASE_COMMON_LOG_H
#define SANDLEASE_COMMON_LOG_H

#include <stdint.h>

#include "common/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG__MAX };
enum log_format { LOG_KV, LOG_JSON, LOG_FORMAT__MAX };

extern const char *const LOG_LEVEL_NAMES[];  /* NULL at the end */
extern const char *const LOG_FORMAT_NAMES[]; /* NULL at the end */

/* Call it once, before the first line.  `program` must stay valid for ever. */
void log_open(const char *program, enum log_level level,
    enum log_format format);

/*
 * Keeps stderr, a file that is open for reading and appending, below `bytes`: a
 * larger file loses its older half.  0: no limit.
 */
void log_limit(int64_t bytes);

/*
 * Sets the ids that every further line of this thread carries; "" leaves an id
 * out.  The ids are per thread, because each of the agent's threads serves
 * another request.
 */
void log_context(const char *request_id, const char *session_id);

/* `event` is a short fixed word; the message says the rest. */
void log_line(enum log_level level, const char *event, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Logs an error.  Only main loops do this: see err.h. */
void log_err(enum log_level level, const char *event, const struct err *e);

#endif
