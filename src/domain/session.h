/*
 * session.h: the words for a session's life.
 *
 * The same words stand in JSON and in SQL (the column's CHECK);
 * t/sql/transitions.t holds them together.
 */
#ifndef SANDLEASE_DOMAIN_SESSION_H
#define SANDLEASE_DOMAIN_SESSION_H

#include <stdbool.h>

enum session_state {
	SESSION_INITIALIZING,
	SESSION_READY,
	SESSION_SLEEPING,
	SESSION_ASLEEP,
	SESSION_DELETING,
	SESSION_DELETED,
	SESSION_FAILED,
	SESSION_LOST,
	SESSION__MAX
};

extern const char *const SESSION_STATE_NAMES[]; /* NULL at the end */
extern const char *const ISOLATION_NAMES[];     /* session, shared */

enum isolation { ISOLATION_SESSION, ISOLATION_SHARED };

/* SESSION__MAX when the word is none of ours. */
enum session_state session_state_parse(const char *word);

#endif
