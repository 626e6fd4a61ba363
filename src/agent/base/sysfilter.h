/*
 * sysfilter.h: installs the filter of system calls for tenant code.
 *
 * sysfilter_gen.c has the list.  Each cell installs the filter before any
 * tenant code runs.
 */
#ifndef SANDLEASE_AGENT_BASE_SYSFILTER_H
#define SANDLEASE_AGENT_BASE_SYSFILTER_H

#include <stdbool.h>

/*
 * Filters this process and all processes it starts; needs no_new_privs.
 * `root`: the cell's user is root, the only user there; calls that give files
 * to another user or change the user then succeed without effect.
 */
int sysfilter_install(bool root);

#endif
