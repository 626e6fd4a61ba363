/*
 * kernel_limits.h: settings of the kernel that all sandboxes share.
 *
 * The kernel counts these for a user or for the whole machine, not for a sandbox,
 * and sandboxes are one user.  They must be so large that a sandbox meets its own
 * limits first; src/api/sandlease.sysctl.in sets them.
 */
#ifndef SANDLEASE_COMMON_KERNEL_LIMITS_H
#define SANDLEASE_COMMON_KERNEL_LIMITS_H

#include <stddef.h>

/*
 * Calls say() with a sentence for each setting below `root` (/proc/sys) that is
 * too small.  One that this kernel does not have is none.  Returns how many.
 */
size_t kernel_limits_check(const char *root, void (*say)(const char *text));

#endif
