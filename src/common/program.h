/*
 * program.h: starts our programs: raises limits, gives up root, reports a fatal
 * error.
 *
 * None of our programs runs as root, even if root starts it.
 */
#ifndef SANDLEASE_COMMON_PROGRAM_H
#define SANDLEASE_COMMON_PROGRAM_H

#include "common/conf.h"
#include "common/err.h"

/*
 * Raises the soft limits of this process (descriptors, processes, pending
 * signals, message queues) to the hard limits.  Root raises the hard limits
 * first.  The kernel gives a user namespace the limits of the process that
 * creates it, and they bound everything inside: low limits here would be low
 * limits for sandboxes.
 */
void program_raise_limits(void);

/* Becomes conf->user when root started us; else does nothing. */
int program_drop_root(const struct conf *conf, struct err *e) MUST_CHECK;

/* Gives the file to conf->user when we are root; else does nothing. */
int program_give_file(const struct conf *conf, const char *path, struct err *e)
    MUST_CHECK;

/* Prints "program: message" and returns EXIT_FAILURE. */
int program_fail(const char *program, const struct err *e);

#endif
