/*
 * sysfilter.h: the system calls that tenant code may not make.
 *
 * sysfilter_gen.c has the list.  Each cell installs the filter before anything
 * of the tenant's runs.
 */
#ifndef SANDLEASE_AGENT_BASE_SYSFILTER_H
#define SANDLEASE_AGENT_BASE_SYSFILTER_H

#include <stdbool.h>

/*
 * For this process and all it will start; needs no_new_privs.  `root`: a cell
 * whose user is root, the only one there is; giving files to other users, or
 * becoming one, then succeeds without effect.
 */
int sysfilter_install(bool root);

#endif
