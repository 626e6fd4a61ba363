/*
 * limits.h: limits of a session or an execution, as a body or a profile has
 * them.
 *
 * A limit that is not given is the profile's of its agent type, and no limit
 * may be above the class's: sql/functions/profile.sql.
 */
#ifndef SANDLEASE_DOMAIN_LIMITS_H
#define SANDLEASE_DOMAIN_LIMITS_H

#include "common/err.h"
#include "common/json.h"

/* A limit of 0 is not given. */
struct limits {
	int64_t memory_mb;
	int64_t cpu_seconds;
	int64_t wall_seconds;
	int64_t network_requests;
	int64_t pids;
	int64_t disk_mb;
};

extern const struct jfield LIMITS_FIELDS[];
extern const size_t LIMITS_FIELD_COUNT;
/* Without the last one, networkRequests: no execution in a session has it. */
extern const size_t LIMITS_EXECUTION_COUNT;

enum {
	LIMITS_SECONDS_MAX = 30 * 86400,
	AGENT_TYPE_MAX = 65,
	EXECUTION_COMMAND_MAX = 64 * 1024
};

/*
 * Checks the object {"memoryMb", ...} of a body.  The error names the member
 * below `field`, such as "limits.memoryMb".
 */
int limits_check(const json_t *body, const char *field, struct err *e)
    MUST_CHECK;

/* Whether this can be the name of an agent type: letters, digits and ._- */
bool limits_is_agent_type(const char *name);

#endif
