/* capability.c: switches a capability of the calling thread on or off. */
#include "agent/base/capability.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

int
capability_use(int capability, bool on)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	__u32 *effective = &data[CAP_TO_INDEX(capability)].effective;
	__u32 bit = CAP_TO_MASK(capability);

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	*effective = on ? *effective | bit : *effective & ~bit;
	return (int)syscall(SYS_capset, &head, data);
}
