/*
 * faulty.h: makes calls of a provider fail or hang in tests (common/fault.h).
 */
#ifndef SANDLEASE_PROVIDER_CHOOSE_FAULTY_H
#define SANDLEASE_PROVIDER_CHOOSE_FAULTY_H

#include "provider/provider.h"

#ifdef WITH_FAULTS
/*
 * The operations of `ops` with faults before and after them.  The result is
 * static and holds one provider.
 */
const struct provider_ops *provider_faulty(const struct provider_ops *ops);
#else
static inline const struct provider_ops *
provider_faulty(const struct provider_ops *ops)
{
	return ops;
}
#endif

#endif
