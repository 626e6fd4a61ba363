/*
 * program.h: how every program of ours begins.
 *
 * Options that all share (--config, --version, --help), then the settings,
 * the log, and the loss of root: nothing of ours runs privileged, also when
 * it is started by root.
 */
#ifndef SANDLEASE_COMMON_PROGRAM_H
#define SANDLEASE_COMMON_PROGRAM_H

#include "common/conf.h"
#include "common/err.h"

/*
 * As many descriptors as this process may have, and of what the kernel counts
 * for a user as much as a sandbox may hand on: a user namespace keeps the limits
 * of whoever made it for all that is in it.  Root raises them first.
 */
void program_raise_limits(void);

/* Becomes conf->user when started by root; a no-op for anybody else. */
int program_drop_root(const struct conf *conf, struct err *e) MUST_CHECK;

/* Gives a file that root has just made to conf->user; else a no-op. */
int program_give_file(const struct conf *conf, const char *path, struct err *e)
    MUST_CHECK;

/* Prints "program: message" and returns EXIT_FAILURE. */
int program_fail(const char *program, const struct err *e);

#endif
