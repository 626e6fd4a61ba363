/* sysfilter.c: installs the filter of system calls for tenant code. */
#include "agent/base/sysfilter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "common/mem.h"

static const struct sock_filter PROGRAM[] = {
#include "agent/base/sysfilter_table.h"
};

static const struct sock_filter ROOT_PROGRAM[] = {
#include "agent/base/sysfilter_root_table.h"
};

static int
install_program(const struct sock_filter *program, size_t count)
{
	/* the kernel does not write to it */
	const struct sock_fprog filter = { (unsigned short)count,
		(struct sock_filter *)(uintptr_t)program };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

int
sysfilter_install(bool root)
{
	if (root && install_program(ROOT_PROGRAM, ARRAY_LEN(ROOT_PROGRAM)) < 0)
		return -1;
	return install_program(PROGRAM, ARRAY_LEN(PROGRAM));
}
