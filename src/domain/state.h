/*
 * state.h: reads the words for states into enums.
 *
 * state_..._parse() reads a word once, next to its row; the word is written
 * again only for clients and the database.  In between the state is an enum,
 * and each switch names all its values.  The same words stand in the CHECKs of
 * the columns (t/sql/transitions.t compares them).  Which transitions are
 * allowed is in tables of the database: session_transition and
 * lease_transition.
 */
#ifndef SANDLEASE_DOMAIN_STATE_H
#define SANDLEASE_DOMAIN_STATE_H

#include <stdbool.h>

/* SESSION_UNKNOWN: there is no row, or it has a word of another release. */
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

/* Whether a generation owns the session's wrapper, or must be stopped. */
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

/* The words, indexed by the enums above; NULL at the end. */
extern const char *const SESSION_STATES[]; /* "" when unknown */
extern const char *const LEASE_STATES[];
extern const char *const SANDBOX_STATES[]; /* "" when unknown */
extern const char *const ISOLATION_NAMES[];

/* Of executions, as the database has them. */
extern const char *const EXECUTION_STATES[];

enum session_state state_session_parse(const char *word);
/* An unknown word becomes LEASE_STOP_NEEDED: there may be a wrapper. */
enum lease_state state_lease_parse(const char *word);
enum sandbox_state state_sandbox_parse(const char *word);

/* Whether the session is on its way to another state; a client may wait. */
bool state_session_moves(enum session_state s);

/* Whether the session is deleted or being deleted: it takes no new work. */
bool state_session_ends(enum session_state s);

#endif
