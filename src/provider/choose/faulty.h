/*
 * faulty.h: a provider that fails and hangs on purpose (common/fault.h).
 */
#ifndef SANDLEASE_PROVIDER_CHOOSE_FAULTY_H
#define SANDLEASE_PROVIDER_CHOOSE_FAULTY_H

#include "provider/provider.h"

#ifdef WITH_FAULTS
/* The same provider, with faults before and after its calls. */
const struct provider_ops *provider_faulty(const struct provider_ops *ops);
#else
static inline const struct provider_ops *
provider_faulty(const struct provider_ops *ops)
{
	return ops;
}
#endif

#endif
