/* limits.c: checks limits of a session or an execution. */
#include "domain/limits.h"

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

enum {
	MEMORY_MIN_MB = 64, /* a wrapper does not start with less */
	PIDS_MIN = 32,
	MEGABYTES_MAX = 1024 * 1024 * 1024,
	PIDS_MAX = 4 * 1024 * 1024
};

#define F(wire, member, lo, hi, help)                                          \
	JFIELD(wire, struct limits, member, J_INT, 0, lo, hi, help)

/* clang-format off */
const struct jfield LIMITS_FIELDS[] = {
	F("memoryMb", memory_mb, MEMORY_MIN_MB, MEGABYTES_MAX, "memory"),
	F("cpuSeconds", cpu_seconds, 1, LIMITS_SECONDS_MAX, "processor time of an execution"),
	F("wallSeconds", wall_seconds, 1, LIMITS_SECONDS_MAX, "how long an execution may take"),
	F("pids", pids, PIDS_MIN, PIDS_MAX, "processes and threads"),
	F("diskMb", disk_mb, 1, MEGABYTES_MAX, "files"),
	F("networkRequests", network_requests, 1, NETWORK_REQUESTS_MAX, "requests over the network"),
};
/* clang-format on */
#undef F
const size_t LIMITS_FIELD_COUNT = ARRAY_LEN(LIMITS_FIELDS);
const size_t LIMITS_EXECUTION_COUNT = ARRAY_LEN(LIMITS_FIELDS) - 1;

int
limits_check(const json_t *body, const char *field, struct err *e)
{
	struct limits ignored = { 0 };

	if (!json_is_object(body))
		return err_field(e, field, "must be an object");
	if (jfield_decode(body, LIMITS_FIELDS, LIMITS_FIELD_COUNT, 0, &ignored,
		e) < 0)
		return err_below(e, field);
	return 0;
}

bool
limits_is_agent_type(const char *name)
{
	return str_made_of(name,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
	    1, AGENT_TYPE_MAX - 1);
}
