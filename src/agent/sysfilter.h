/*
 * sysfilter.h: the system calls that tenant code may not make.
 *
 * Built once by init, as a program for the kernel; each cell installs it
 * before anything of the tenant's runs.  What is refused fails with EPERM
 * (clone3 with ENOSYS, so that libraries fall back to clone, whose flags can
 * be looked at).
 */
#ifndef SANDLEASE_AGENT_SYSFILTER_H
#define SANDLEASE_AGENT_SYSFILTER_H

#include <linux/filter.h>

#include "common/err.h"

int sysfilter_build(struct sock_fprog *out, struct err *e) MUST_CHECK;

/* For this process and all it will start; needs no_new_privs. */
int sysfilter_install(const struct sock_fprog *filter);

#endif
