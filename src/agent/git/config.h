/*
 * config.h: writes the session's .gitconfig, so that commits have an author.
 */
#ifndef SANDLEASE_AGENT_GIT_CONFIG_H
#define SANDLEASE_AGENT_GIT_CONFIG_H

#include "common/str.h"

/* Appends the text of the file, with values quoted for git.  Pure. */
void gitconfig_text(const char *name, const char *email, struct buf *to);

/*
 * Writes the file, unless one exists: that one is the tenant's.  Does nothing
 * without name and email.  A failure is only logged.
 */
void gitconfig_write(const char *path, const char *name, const char *email);

#endif
