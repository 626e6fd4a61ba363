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

/* Becomes conf->user when started by root; a no-op for anybody else. */
int program_drop_root(const struct conf *conf, struct err *e) MUST_CHECK;

/* Gives a file that root has just made to conf->user; else a no-op. */
int program_give_file(const struct conf *conf, const char *path, struct err *e)
    MUST_CHECK;

/* Prints "program: message" and returns EXIT_FAILURE. */
int program_fail(const char *program, const struct err *e);

#endif
