/*
 * config.h: who commits in this session.
 */
#ifndef SANDLEASE_AGENT_GIT_CONFIG_H
#define SANDLEASE_AGENT_GIT_CONFIG_H

#include "common/str.h"

/* Appends the file's text, quoted as git wants it.  Pure. */
void gitconfig_text(const char *name, const char *email, struct buf *to);

/* Writes it unless there is one, which is then the tenant's.  Best effort. */
void gitconfig_write(const char *path, const char *name, const char *email);

#endif
