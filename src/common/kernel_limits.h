/*
 * kernel_limits.h: checks kernel limits that all sandboxes share.
 *
 * The kernel counts these resources for a user or for the whole machine, not
 * for a sandbox, and all sandboxes run as one user.  The limits must be so
 * large that a sandbox reaches its own limits first;
 * src/api/sandlease.sysctl.in sets them.
 */
#ifndef SANDLEASE_COMMON_KERNEL_LIMITS_H
#define SANDLEASE_COMMON_KERNEL_LIMITS_H

#include <stddef.h>

/*
 * Calls say() with a sentence for each limit below `root` (/proc/sys) that is
 * too small, and returns how many there are.  A limit that this kernel does not
 * have is skipped.
 */
size_t kernel_limits_check(const char *root, void (*say)(const char *text));

#endif
