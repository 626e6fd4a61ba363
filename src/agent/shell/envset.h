/*
 * envset.h: the session's environment variables.
 *
 * Given with the launch and changed by op env while shells live; each change
 * has a number, so that a shell is told what changed since it was last asked
 * and the tenant's own exports stay.  Never in the environment of a process
 * of ours.
 */
#ifndef SANDLEASE_AGENT_SHELL_ENVSET_H
#define SANDLEASE_AGENT_SHELL_ENVSET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"
#include "common/str.h"

enum {
	ENV_NAME_MAX = 256,
	ENV_VALUE_MAX = 48 * 1024, /* all that a control message brings */
	ENV_COUNT_MAX = 512,
	ENV_TOTAL_MAX = 256 * 1024
};

/* What a session is called by the programs in it. */
struct envset_session {
	const char *id, *name; /* name "": it has none */
	const char *user;
	int64_t cpus; /* that runtimes start a thread for; 0: all */
};

/* Once, before anything of the tenant's is started. */
void envset_open(const struct envset_session *s);

/* Names and values, null where it means unset; the field is named `field`. */
int envset_check(const json_t *env, const char *field, struct err *e)
    MUST_CHECK;

/* Merges a checked object in; if it is the whole, what it lacks is unset. */
int envset_merge(const json_t *env, bool whole, struct err *e) MUST_CHECK;

/*
 * Appends what a shell that knows change `since` must be told; returns the
 * number of the last change.
 */
int64_t envset_script(int64_t since, struct buf *to);

/*
 * The environment of a new shell: ours, then the session's.  The array and
 * its strings are one allocation, the caller's.  *seq is as above.
 */
char **envset_envp(int64_t *seq);

/* The same with the checked variables `more` (NULL: none), which win. */
char **envset_envp_with(const json_t *more, int64_t *seq);

/* What `name` is in such an environment, "" if it has none. */
const char *envset_find(char *const *envp, const char *name);

/* The session's value of a variable as a number; 0 if it is none in 1..max. */
int64_t envset_number(const char *name, int64_t max);

#endif
