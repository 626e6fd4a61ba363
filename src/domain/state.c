/* state.c: reads the words for states into enums. */
#include "domain/state.h"

#include <stddef.h>

#include "common/str.h"

const char *const SESSION_STATES[] = {
	[SESSION_UNKNOWN] = "",
	[SESSION_INITIALIZING] = "initializing",
	[SESSION_READY] = "ready",
	[SESSION_SLEEPING] = "sleeping",
	[SESSION_ASLEEP] = "asleep",
	[SESSION_DELETING] = "deleting",
	[SESSION_DELETED] = "deleted",
	[SESSION_FAILED] = "failed",
	[SESSION_LOST] = "lost",
	NULL,
};

const char *const LEASE_STATES[] = {
	[LEASE_NONE] = "none",
	[LEASE_OWNS_WRAPPER] = "owns_wrapper",
	[LEASE_STOP_NEEDED] = "stop_needed",
	[LEASE_STOPPING] = "stopping",
	NULL,
};

const char *const SANDBOX_STATES[] = {
	[SANDBOX_UNKNOWN] = "",
	[SANDBOX_ABSENT] = "absent",
	[SANDBOX_CREATING] = "creating",
	[SANDBOX_RUNNING] = "running",
	[SANDBOX_STOPPED] = "stopped",
	[SANDBOX_DESTROYING] = "destroying",
	NULL,
};

const char *const ISOLATION_NAMES[] = { "session", "shared", NULL };

const char *const EXECUTION_STATES[] = { "queued", "running", "succeeded",
	"failed", "timed_out", "cpu_exceeded", "memory_exceeded",
	"disk_exceeded", "network_exceeded", "cancelled", "lost", NULL };

static int
find_word(const char *const words[], const char *word, int otherwise)
{
	for (int i = 0; words[i] != NULL; i++)
		if (str_equal(words[i], word))
			return i;
	return otherwise;
}

enum session_state
state_session_parse(const char *word)
{
	return (
	    enum session_state)find_word(SESSION_STATES, word, SESSION_UNKNOWN);
}

enum lease_state
state_lease_parse(const char *word)
{
	return (
	    enum lease_state)find_word(LEASE_STATES, word, LEASE_STOP_NEEDED);
}

enum sandbox_state
state_sandbox_parse(const char *word)
{
	return (
	    enum sandbox_state)find_word(SANDBOX_STATES, word, SANDBOX_UNKNOWN);
}

bool
state_session_moves(enum session_state s)
{
	switch (s) {
	case SESSION_INITIALIZING:
	case SESSION_SLEEPING:
	case SESSION_DELETING:
		return true;
	case SESSION_UNKNOWN:
	case SESSION_READY:
	case SESSION_ASLEEP:
	case SESSION_DELETED:
	case SESSION_FAILED:
	case SESSION_LOST:
		return false;
	}
	return false;
}

bool
state_session_ends(enum session_state s)
{
	return s == SESSION_DELETING || s == SESSION_DELETED;
}
