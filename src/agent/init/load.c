/* load.c: measures the processes of a cell, or of the whole sandbox. */
#include "agent/init/load.h"

#include "agent/base/procload.h"

json_t *
load_below(pid_t root)
{
	struct procload l = procload_below(root);

	return json_pack("{s:I, s:I, s:I}", "processes",
	    (json_int_t)l.processes, "memoryBytes", (json_int_t)l.memory_bytes,
	    "cpuUs", (json_int_t)l.cpu_us);
}
