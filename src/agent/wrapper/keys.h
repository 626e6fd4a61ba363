/*
 * keys.h: correlation keys that commands inside ask for their session.
 *
 * `sandlease-agent key KEY` adds one to a file in the home directory, and the
 * wrapper tells the host when it is asked.  The host decides.
 */
#ifndef SANDLEASE_AGENT_WRAPPER_KEYS_H
#define SANDLEASE_AGENT_WRAPPER_KEYS_H

#include "common/json.h"

/* The session's id; called once, before the others. */
void keys_open(const char *session);

/* The keys that were asked for; NULL: none.  The caller owns the list. */
json_t *keys_asked(void);

/* Asks for a key, as a command; its exit code. */
int keys_main(const char *key);

#endif
