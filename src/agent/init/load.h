/*
 * load.h: measures the processes of a cell, or of the whole sandbox, for a host
 * that has no cgroups to read.
 *
 * init counts from outside every cell, where no tenant's code can change the
 * numbers.
 */
#ifndef SANDLEASE_AGENT_INIT_LOAD_H
#define SANDLEASE_AGENT_INIT_LOAD_H

#include <sys/types.h>

#include "common/json.h"

/* {"processes", "memoryBytes", "cpuUs"}, as procload.h has them. */
json_t *load_below(pid_t root);

#endif
