/* procmem.c: measures the memory that processes do not share. */
#include "agent/base/procmem.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

int64_t
procmem_own(pid_t pid)
{
	char path[64], text[128] = "";
	int64_t resident, shared;
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%*d %" SCNd64 " %" SCNd64, &resident, &shared) != 2)
		return 0; /* the process has ended */
	return (resident - shared) * sysconf(_SC_PAGESIZE);
}

int64_t
procmem_all(void)
{
	DIR *d = opendir("/proc");
	const struct dirent *ent;
	int64_t sum = 0;

	if (d == NULL)
		return 0;
	while ((ent = readdir(d)) != NULL) {
		int64_t pid;

		if (str_to_int(ent->d_name, 1, INT_MAX, &pid))
			sum += procmem_own((pid_t)pid);
	}
	closedir(d);
	return sum;
}
