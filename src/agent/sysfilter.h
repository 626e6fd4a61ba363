/*
 * sysfilter.h: the system calls that tenant code may not make.
 *
 * sysfilter_gen.c has the list.  Each cell installs the filter before anything
 * of the tenant's runs.
 */
#ifndef SANDLEASE_AGENT_SYSFILTER_H
#define SANDLEASE_AGENT_SYSFILTER_H

/* For this process and all it will start; needs no_new_privs. */
int sysfilter_install(void);

#endif
