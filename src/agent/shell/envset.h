/*
 * envset.h: keeps the session's environment variables.
 *
 * They come with the launch, and op env changes them while shells live.  Each
 * change has a number, so that a shell is sent only the changes since its last
 * command, and the tenant's own exports stay.  The variables are never in the
 * environment of the wrapper or another process of ours.
 */
#ifndef SANDLEASE_AGENT_SHELL_ENVSET_H
#define SANDLEASE_AGENT_SHELL_ENVSET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"
#include "common/str.h"

enum {
	ENV_NAME_MAX = 256,
	ENV_VALUE_MAX = 48 * 1024, /* a control message has no room for more */
	ENV_COUNT_MAX = 512,
	ENV_TOTAL_MAX = 256 * 1024
};

/* Facts about the session that programs find in their environment. */
struct envset_session {
	const char *id, *name; /* name "": none */
	const char *user;
	int64_t cpus; /* how many threads runtimes should start; 0: not set */
	bool network; /* package managers may reach something */
};

/* Called once, before the first process of the tenant is started. */
void envset_open(const struct envset_session *s);

/* The session has this name and network from now on; running shells learn it. */
void envset_adopt(const char *name, bool network);

/*
 * Checks an object of names and values; null means unset.  `field` is its name
 * in error messages.
 */
int envset_check(const json_t *env, const char *field, struct err *e)
    MUST_CHECK;

/* Merges a checked object.  `whole`: unsets all variables not in it. */
int envset_merge(const json_t *env, bool whole, struct err *e) MUST_CHECK;

/*
 * Leads programs to certificates: `authority` is a file with those to be trusted
 * in addition, `bundle` one with all.  Variables of the session win.
 */
void envset_trust(const char *authority, const char *bundle);

/*
 * Appends a script with all changes after number `since`; returns the number of
 * the last change.
 */
int64_t envset_script(int64_t since, struct buf *to);

/*
 * Builds the environment of a new shell: the defaults of this file and the
 * session's variables, which win.  The array and its strings are one
 * allocation, which the caller frees.  *seq gets the number of the last change.
 */
char **envset_envp(int64_t *seq);

/* The same with the checked variables `more` (NULL: none), which win. */
char **envset_envp_with(const json_t *more, int64_t *seq);

/* The value of `name` in such an environment, "" if it is not there. */
const char *envset_find(char *const *envp, const char *name);

/* The session's variable as a number; 0 if it is not a number in 1..max. */
int64_t envset_number(const char *name, int64_t max);

#endif
