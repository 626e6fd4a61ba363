/*
 * session_end.h: why the host ends this session.
 *
 * init passes the reason on before it sends SIGTERM, so that a thread whose
 * command has died of that signal can tell its client that the session sleeps
 * or was deleted, rather than that the command ended with 143.
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
	char reason[24]; /* session_slept, session_deleted, session_ended */
	char
	    cause[32]; /* what the host calls it, such as idle-timeout; or "" */
	int64_t grace_ms; /* what still runs then is to be killed; 0: never */
};

/*
 * The next message of init's.  *msg is NULL when it was the reason, which is
 * kept.  Only the main thread receives.
 */
int session_end_receive(int channel, json_t **msg, struct channel_fds *fds,
    struct err *e) MUST_CHECK;

/*
 * Whether the session is ending.  From any thread but the main one: if init's
 * message has come and was not received yet, that is waited for.
 */
bool session_end_told(struct session_end *out);

/* What the main thread knows. */
int64_t session_end_grace_ms(void);

/*
 * An eventfd that nobody reads, readable once the tenant's processes have ended:
 * a stream that waits for none of them says its last words then.
 */
int session_end_fd(void);

/* Before the first call is served; and when the tenant's processes have ended. */
int session_end_open(struct err *e) MUST_CHECK;
void session_end_wake(void);

/*
 * If the session is ending: makes *e ERR_GONE "session_terminated" with the
 * reason, whatever it was, and says true.
 */
bool session_end_explain(struct err *e);

/*
 * If the session is ending: appends the last event of a stream, as
 * answer_last_words() of the service writes it, with the reason and whatever
 * members `more` (borrowed, may be NULL) has; and says true.
 */
bool session_end_event(struct buf *to, json_t *more);

#endif
