/* session.c: the words for a session's life. */
#include "domain/session.h"

#include "common/mem.h"
#include "common/str.h"

const char *const SESSION_STATE_NAMES[] = {
	[SESSION_INITIALIZING] = "initializing",
	[SESSION_READY] = "ready",
	[SESSION_SLEEPING] = "sleeping",
	[SESSION_ASLEEP] = "asleep",
	[SESSION_DELETING] = "deleting",
	[SESSION_DELETED] = "deleted",
	[SESSION_FAILED] = "failed",
	[SESSION_LOST] = "lost",
	[SESSION__MAX] = NULL,
};

const char *const ISOLATION_NAMES[] = { "session", "shared", NULL };

enum session_state
session_state_parse(const char *word)
{
	int i = 0;

	while (i < SESSION__MAX && !str_equal(SESSION_STATE_NAMES[i], word))
		i++;
	return (enum session_state)i;
}
