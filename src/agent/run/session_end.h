/*
 * session_end.h: receives from init why the host ends this session, and tells
 * clients.
 *
 * init sends the reason before it sends SIGTERM.  So a thread whose command
 * died of that signal can tell its client that the session sleeps or was
 * deleted, and not that the command ended with 143.
 */
#ifndef SANDLEASE_AGENT_RUN_SESSION_END_H
#define SANDLEASE_AGENT_RUN_SESSION_END_H

#include <stdbool.h>
#include <stdint.h>

#include "common/channel.h"
#include "common/err.h"
#include "common/json.h"
#include "common/str.h"

struct session_end {
	char reason[24];  /* session_slept, session_deleted, session_ended */
	char cause[32];   /* the host's word, such as idle-timeout; or "" */
	int64_t grace_ms; /* then, running commands are killed; 0: never */
};

/*
 * Receives init's next message.  If it is the reason, keeps it and sets *msg to
 * NULL.  Only the main thread receives.
 */
int session_end_receive(int channel, json_t **msg, struct channel_fds *fds,
    struct err *e) MUST_CHECK;

/*
 * Whether the session is ending, and why.  For any thread but the main one: if
 * init's message has come but the main thread has not received it yet, waits
 * for that.
 */
bool session_end_told(struct session_end *out);

/* For the main thread. */
int64_t session_end_grace_ms(void);

/*
 * An eventfd that is readable once the tenant's processes have ended; do not
 * read it, other threads poll it, too.  A stream that waits for no process
 * sends its last event then.
 */
int session_end_fd(void);

/*
 * Makes that eventfd, before the first call is served; and makes it readable,
 * when the tenant's processes have ended.
 */
int session_end_open(struct err *e) MUST_CHECK;
void session_end_wake(void);

/*
 * If the session is ending, replaces the error in *e by ERR_GONE
 * "session_terminated" with the reason, and returns true.
 */
bool session_end_explain(struct err *e);

/*
 * If the session is ending, appends the last event of a stream, and returns
 * true.  The event is like that of the service's answer_last_words(), with the
 * reason and the members of `more` (borrowed, may be NULL).
 */
bool session_end_event(struct buf *to, json_t *more);

#endif
