/* sysfilter.c: the system calls that tenant code may not make. */
#include "agent/sysfilter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include "common/mem.h"

static struct sock_filter PROGRAM[] = {
#include "agent/sysfilter_table.h"
};

int
sysfilter_install(void)
{
	const struct sock_fprog filter = { ARRAY_LEN(PROGRAM), PROGRAM };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}
