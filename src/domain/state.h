/*
 * state.h: the words for states, as types.
 *
 * A word is read once, where its row is (state_..._parse), and written where it
 * leaves us; in between it is one of these, and a switch over it names them
 * all.  The same words stand in the columns' CHECKs (t/sql/transitions.t holds
 * them together).  What leads from one to another is rows in the database:
 * session_transition and lease_transition.
 */
#ifndef SANDLEASE_DOMAIN_STATE_H
#define SANDLEASE_DOMAIN_STATE_H

#include <stdbool.h>

/* Unknown: there is no such row, or another release's word is in it. */
enum session_state {
	SESSION_UNKNOWN,
	SESSION_INITIALIZING,
	SESSION_READY,
	SESSION_SLEEPING,
	SESSION_ASLEEP,
	SESSION_DELETING,
	SESSION_DELETED,
	SESSION_FAILED,
	SESSION_LOST
};

/* Who owns a session's wrapper. */
enum lease_state {
	LEASE_NONE,
	LEASE_OWNS_WRAPPER,
	LEASE_STOP_NEEDED,
	LEASE_STOPPING
};

enum sandbox_state {
	SANDBOX_UNKNOWN,
	SANDBOX_ABSENT,
	SANDBOX_CREATING,
	SANDBOX_RUNNING,
	SANDBOX_STOPPED,
	SANDBOX_DESTROYING
};

enum isolation { ISOLATION_SESSION, ISOLATION_SHARED };

/* Their words, by number; NULL at the end. */
extern const char *const SESSION_STATES[]; /* "" when unknown */
extern const char *const LEASE_STATES[];
extern const char *const SANDBOX_STATES[]; /* "" when unknown */
extern const char *const ISOLATION_NAMES[];

enum session_state state_session_parse(const char *word);
/* What cannot be read is owned and due for clean-up, never none. */
enum lease_state state_lease_parse(const char *word);
enum sandbox_state state_sandbox_parse(const char *word);

/* It is on its way to another state, and somebody may want to wait. */
bool state_session_moves(enum session_state s);

/* It is over, or will be: nothing is begun in it any more. */
bool state_session_ends(enum session_state s);

#endif
