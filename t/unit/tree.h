/* tree.h: makes an empty directory for a test, and runs the test in it. */
#ifndef SANDLEASE_UNIT_TREE_H
#define SANDLEASE_UNIT_TREE_H

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[32];

/* cmocka's set-up and tear-down, of a test or of all tests. */
static inline int
enter(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/sl-unit-XXXXXX");
	return mkdtemp(dir) == NULL || chdir(dir) < 0 ? -1 : 0;
}

static inline int
leave(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "chmod -R u+rwx %s; rm -rf %s", dir,
	    dir);
	return chdir("/") < 0 ? -1 : system(command);
}

static inline void
touch(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT, 0644);

	assert_true(fd >= 0);
	close(fd);
}

#endif
