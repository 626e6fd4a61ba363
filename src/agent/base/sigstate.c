/* sigstate.c: tells whether a process catches or ignores a signal (/proc). */
#include "agent/base/sigstate.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"

static bool
is_in_mask(pid_t pid, const char *mask, int sig)
{
	char path[64], line[256];
	uint64_t set = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	while (fgets(line, sizeof(line), f) != NULL)
		if (str_starts(line, mask) &&
		    sscanf(line + strlen(mask), " %" SCNx64, &set) == 1)
			break;
	fclose(f);
	return (set >> (sig - 1) & 1) != 0;
}

bool
sigstate_catches(pid_t pid, int sig)
{
	return is_in_mask(pid, "SigCgt:", sig);
}

bool
sigstate_ignores(pid_t pid, int sig)
{
	return is_in_mask(pid, "SigIgn:", sig);
}
